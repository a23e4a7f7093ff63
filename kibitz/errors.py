"""The errors that kibitz raises on purpose.

Each is a sentence: what was wrong, where, and what to do. The command line prints the sentence and
exits with code 2; it never shows a traceback for one of these.
"""

from __future__ import annotations


class KibitzError(ValueError):
    """An error that the caller can correct: the message says how."""


class SpecError(KibitzError):
    """A "name(key=value)" string that does not parse, or names what does not exist."""


class GameError(KibitzError):
    """Rules that break the Game protocol: actions that disagree, probabilities that do not sum to one."""


class SolverError(KibitzError):
    """A solver or an option that does not fit the game."""


class ArtefactError(KibitzError):
    """A saved file that is damaged, of another kind, or of another version."""


class MissingExtra(KibitzError):
    """An optional package is needed and not installed."""


class RunWarning(UserWarning):
    """Something about a run that its result does not show: that it was stopped, or where it was saved instead."""
