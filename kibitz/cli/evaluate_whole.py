"""kibitz evaluate --whole: exploitability of a strategy with hand buckets in the whole game, board by board."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kibitz.cli.common import print_json, print_pairs, read_strategy, rules_of, saved_game, telling
from kibitz.cli.watch import Watch
from kibitz.core.errors import GameError

FLOPS = "flops: {done:,} of {pieces:,}"


def evaluate_whole(path: Path, game: str | None, device: str, json: bool, value: bool = False) -> None:
    """Best responses over all boards, and on demand the value. A run that was stopped continues after its last flop."""
    from kibitz.forms.profile import Profile
    from kibitz.play.always import PLAIN
    from kibitz.poker.bucketed.device import Device
    from kibitz.poker.whole.profiles import exploited, won

    Device(device)  # refuses a GPU that is missing, before any work
    player: Any = str(path)
    if player in PLAIN:
        if game is None:
            raise GameError(f"{path} can play any poker game: name one, such as --game holdem.limit.2p")
        rules: Any = rules_of(game)
    else:
        player = read_strategy(path, game)
        known = game or (saved_game(player.game, path) if isinstance(player, Profile) else "")
        rules = rules_of(known) if isinstance(player, Profile) else player.game
    with Watch(not json) as watch:
        best = exploited(rules, player, telling(watch, FLOPS), device)
        values = won(rules, player, telling(watch, FLOPS), device) if value else None
    per_chip, nash_conv = 1000.0 / max(rules.definition.blinds), max(0.0, float(best.sum()))
    data: dict[str, Any] = {
        "profile": str(path), "game": rules.spec, "whole": True,
        **({} if values is None else {"value": [values, -values]}),
        "best_response": best.tolist(), "nash_conv": nash_conv, "exploitability": nash_conv / 2,
        "exploitability_mbb": nash_conv / 2 * per_chip,
    }  # fmt: skip
    if json:
        print_json(data)
        return
    from kibitz.report.text import signed

    rows = [
        *([] if values is None else [("value", f"{signed(values)} chips for player 0")]),
        *((f"best response, player {seat}", f"{signed(each)} chips") for seat, each in enumerate(best)),
        ("exploitability", f"{data['exploitability']:.6g} chips, {data['exploitability_mbb']:,.3f} mbb/h: exact, over "
                           "all boards of the game"),
    ]  # fmt: skip
    print_pairs(rows)
