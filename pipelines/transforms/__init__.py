"""Public transforms, thin over generators of ``corpora``: for our pipelines, and for yours."""
