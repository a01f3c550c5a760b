"""The error of records that cannot be used."""


class BadRecordError(Exception):
    """A record that cannot be used: the reason to count, and what is wrong; perhaps its line."""
