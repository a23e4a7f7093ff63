"""What Toepen brings beside its rules: agents that search or exploit, and how a table of it is shown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kibitz.games.plugins import Plugin


class ToepenPlugin(Plugin):
    name = "toepen"

    def size(self, game: Any) -> dict[str, Any]:
        return {"deals": game.deals, "commands": ["check", "train", "evaluate", "match", "play"]}

    def agents(self, game: Any) -> Mapping[str, Any]:
        from kibitz.toepen.exploit import AGENTS

        return AGENTS

    def renderer(self, game: Any) -> Any:
        from kibitz.toepen.renderer import SymmetricRenderer, ToepenRenderer

        return SymmetricRenderer(game) if game.symmetric else ToepenRenderer(game)


PLUGIN = ToepenPlugin()
