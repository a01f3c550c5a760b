"""A small HTTP server on loopback: who may ask (``guard``), and its start and end (``server``)."""
