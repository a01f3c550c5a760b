"""What is learned from the shards: layers, models, pre-training."""
