"""Parts of encoders: each maps rows (R, D) to rows (R, D), and pads only where positions meet."""
