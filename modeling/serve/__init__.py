"""An HTTP service for a tagger and a register, with the protocols of several tools."""
