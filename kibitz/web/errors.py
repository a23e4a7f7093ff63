"""What a person can correct: each has a status of HTTP (`app.py`)."""

from kibitz.core.errors import KibitzError


class Wrong(KibitzError):
    """The request body is not valid."""


class Missing(KibitzError):
    """Nothing has that id."""


class Busy(KibitzError):
    """All places are in use."""


class Stale(KibitzError):
    """The request does not fit the state of the table."""
