"""The errors that kibitz raises on purpose.

Each is a sentence: what was wrong, where, and what to do. The command line prints the sentence and
exits with code 2; it never shows a traceback for one of these.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path


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
    """A warning about a run: it was saved elsewhere, or could not be saved."""


class Interrupted(KeyboardInterrupt):
    """A run was interrupted by Ctrl-C, between two steps. Nothing is lost.

    profile  the strategy so far: a Profile with meta["interrupted"] True, or the Blueprint that was trained
    saved    where the run is saved (continue with resume=True); None if it has no checkpoint
    """

    def __init__(self, profile: Any, saved: Path | None, resume: str = "resume=True") -> None:
        where = f"saved in {saved}, go on with {resume}" if saved else "not saved"
        done = profile.meta.get("iterations", profile.meta.get("iteration", 0))
        super().__init__(f"stopped by Ctrl-C after {done:,} iterations; the run is {where}")
        self.profile, self.saved = profile, saved
