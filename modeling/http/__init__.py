"""A small HTTP server on loopback: limits on requests (``guard``), start and stop (``server``)."""
