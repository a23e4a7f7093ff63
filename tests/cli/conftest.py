"""Fixtures of all tests of the command line."""

from __future__ import annotations

from commands import kuhn

__all__ = ["kuhn"]
