"""Parts of encoders. Layers map rows (R, D) to rows (R, D); only attention pads sequences."""
