"""Agents and tables: agents by name, search in the endgame, exploiting players, and a table for people.

from kibitz.play import agent
from kibitz.evaluate.match import match

match("toepen", agent("rule", "toepen"), agent("uniform", "toepen"), deals=10_000)
"""

from __future__ import annotations

from kibitz.play.agents import AGENTS, agent

__all__ = ["AGENTS", "agent"]
