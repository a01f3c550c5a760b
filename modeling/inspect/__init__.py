"""Looking inside an encoder: where it looks, and how its vectors lie."""
