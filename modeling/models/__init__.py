"""Models, composed of layers and heads as settings say."""
