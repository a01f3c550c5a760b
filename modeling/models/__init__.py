"""Models, composed of layers and heads according to settings.

Read in this order:

1. ``text_encoder``, or ``foreign``: an encoder of transformers.
2. ``pretraining_model``; ``tagging_model``, with ``spans``; ``onnx_tagging``: a tagger that was
   exported.
3. ``weights``: their files; ``costs``.
"""
