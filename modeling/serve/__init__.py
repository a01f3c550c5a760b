"""A tagger and a register as one HTTP service, by the protocols of several tools."""
