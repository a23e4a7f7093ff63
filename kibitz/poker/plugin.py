"""The plug-in of poker: forms without a tree, buckets of hands, blueprints with rows by place.

Nothing is imported before it is asked for: this file is read when a poker game is made.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kibitz.core.errors import GameError
from kibitz.games.plugins import FormPlugin


class PokerPlugin(FormPlugin):
    name = "poker"

    def shipped(self) -> list[str]:
        from kibitz.poker.rules.acpc import shipped

        return shipped()

    def open(self, text: str) -> Any:
        from kibitz.poker.rules.rules import poker

        return poker(text) if text.endswith(".game") or text in self.shipped() else None

    def machine(self, game: Any, by_rounds: bool = False) -> Any:
        """Betting that is too large for a tree is kept by rounds, in limit games; without limit it is refused."""
        from kibitz.poker.rules import rounds
        from kibitz.poker.rules.machine import PokerMachine

        if not by_rounds:
            try:
                return PokerMachine(game, game.betting)
            except GameError:
                if not rounds.fits(game.definition):
                    raise
        return PokerMachine(game, rounds.rounds_of(game.definition))

    def table(self, game: Any) -> Any:
        from kibitz.poker.nolimit.table import NoLimitMachine

        return None if game.definition.limit else NoLimitMachine(game)

    def meeting(self, machine: Any, agents: Any) -> Any:
        from kibitz.poker.nolimit.table import meeting_at

        return meeting_at(machine, agents)

    def size(self, game: Any) -> dict[str, Any]:
        counts = game.counts()
        solve = ["solve --abstraction NAME"] if self.has_form(game) else []
        trained = [] if counts.decisions is None else [*solve, "train", "evaluate", "match", "play"]
        return {
            "hands": counts.hands, "hands_up_to_suits": counts.classes, "betting_decisions": counts.decisions,
            "infosets": counts.infosets, "infosets_up_to_suits": counts.infosets_up_to_suits,
            "commands": [*trained, *(["acpc serve", "acpc join"] if game.players <= 3 else [])],
        }  # fmt: skip

    # Forms

    def has_form(self, game: Any) -> bool:
        """Betting times cards is for two players with hands of one card or two."""
        return bool(game.players == 2 and game.definition.hole <= 2)

    def form(self, game: Any, columns: int | None = None) -> Any:
        from kibitz.poker.exact.form import poker_form

        return poker_form(game, columns)

    def infosets(self, arrays: dict[str, Any], meta: dict[str, Any], columns: int) -> Any:
        if "buckets" in meta:
            from kibitz.poker.bucketed.build import infosets_of as bucketed

            return bucketed(arrays, meta, columns)
        if "views" in meta:
            from kibitz.poker.sampled.infosets import infosets_of as sampled

            return sampled(arrays, meta, columns)
        from kibitz.poker.exact.form import infosets_of

        return infosets_of(str(meta.pop("poker")), str(meta.get("game", "")), columns)

    # Abstractions

    def reads(self, abstraction: Any) -> bool:
        from kibitz.poker.buckets.buckets import is_bucket_name

        return is_bucket_name(abstraction)

    def on_form(self, abstraction: Any) -> bool:
        """Buckets of hands and GameShrink, by name or as they are: lists of buckets too."""
        from kibitz.poker.buckets.names import reads_form

        return not isinstance(abstraction, str) or reads_form(abstraction)

    def saved(self, path: str) -> Any:
        from kibitz.poker.buckets.buckets import is_saved
        from kibitz.poker.buckets.hand_buckets import HandBuckets

        return HandBuckets.load(path) if is_saved(path) else None

    def keys(self, game: Any, infosets: Any, abstraction: Any) -> Any:
        from kibitz.poker.buckets.names import tree_keys

        return tree_keys(game, infosets, abstraction) if self.has_form(game) else None

    def abstract(self, form: Any, abstraction: Any, device: str) -> Any:
        from kibitz.poker.resolve import abstracted_form

        return abstracted_form(form, abstraction, device)

    def within(self, game: Any, abstraction: Any, device: str, tell: Any = None, sampled: bool = False) -> Any:
        from kibitz.poker.resolve import within_buckets

        return within_buckets(game, abstraction, device, tell, sampled)

    def wrong_device(self, device: str) -> str:
        return f"device {device} is for poker in buckets (abstraction=percentile(8)): leave it out"

    # Agents

    def agents(self, game: Any) -> Mapping[str, Any]:
        if not self.has_form(game) or game.definition.rounds < 2:
            return {}
        from kibitz.poker.endgames.agents import AGENTS

        return AGENTS

    def translated(self, agent: Any, few: Any, machine: Any) -> Any:
        from kibitz.poker.nolimit.translation import Translated

        return Translated(agent, few, machine)

    def at_once(self, artefact: Any, game: Any, name: str) -> Any:
        from kibitz.poker.blueprints.at_once import at_once

        return at_once(artefact, game, name)

    # Strategies

    def form_of(self, profile: Any, game: Any, device: str = "cpu", tell: Any = None) -> Any:
        from kibitz.poker.resolve import form_of_profile

        return form_of_profile(game, profile, device, tell)

    def on_form_of(self, blueprint: Any, game: Any) -> Any:
        from kibitz.poker.blueprints.exact import on_form_of

        return on_form_of(blueprint, game)

    def stitching(self, game: Any, base: Any, plan: Any, how: Any) -> Any:
        from kibitz.poker.stitching.experts import view_target
        from kibitz.poker.stitching.row_experts import row_target

        return row_target(base, plan, how) or view_target(game, base, plan, how)

    def stitch_setting(self, game: Any, base: str, solver: str) -> Any:
        from kibitz.poker.stitching.bucket_setting import bucket_setting

        return bucket_setting(game, base, solver) if self.reads(base) else None

    def stitch_large(self, game: Any, base: Any, effort: Any) -> Any:
        from kibitz.poker.stitching.large_setting import large_setting

        return large_setting(game, base, effort)

    def stitch_blueprint(self, base: Any, limits: Any, effort: Any) -> Any:
        from kibitz.poker.stitching.row_setting import row_setting

        return row_setting(base, limits, effort)

    def blueprint(self, machine: Any, wanted: Any, base: Any) -> Any:
        from kibitz.poker.blueprints.rows import row_blueprint

        return row_blueprint(machine, wanted, base)

    def saved_blueprint(self, artefact: Any, machine: Any, compact: bool) -> Any:
        if "rows" not in artefact.meta:
            return None
        from kibitz.poker.blueprints.placed_rows import read_blueprint
        from kibitz.solvers.machines import by_rounds

        return read_blueprint(artefact, by_rounds(machine), compact)


PLUGIN = PokerPlugin()
