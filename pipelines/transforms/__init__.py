"""Public Beam transforms over code of ``corpora``, for Onoma's pipelines and those of users."""
