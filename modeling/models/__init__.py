"""Models, composed of layers and heads according to settings."""
