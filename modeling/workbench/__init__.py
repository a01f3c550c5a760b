"""Names of an edition decided in the browser: what is suggested, what is there, what is added."""
