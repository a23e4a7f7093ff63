"""Fixtures of all tests of the command line."""

from __future__ import annotations

from commands import call, kuhn

__all__ = ["call", "kuhn"]
