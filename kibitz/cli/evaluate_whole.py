"""kibitz evaluate --whole: exploitability of a strategy with hand buckets in the whole game, board by board."""

from __future__ import annotations

from pathlib import Path

from kibitz.cli.common import print_json, print_pairs, saved_game, telling
from kibitz.cli.watch import Watch

FLOPS = "flops: {done:,} of {pieces:,}"


def evaluate_whole(path: Path, game: str | None, device: str, json: bool, value: bool = False) -> None:
    """Best responses over all boards, and on demand the value. A run that was stopped continues after its last flop."""
    from kibitz.commands import evaluate_whole as measured
    from kibitz.core.store import said_at

    said = said_at(path)
    if game is None and said is not None and said[0] == "profile":
        game = saved_game(str(said[1].get("game", "")), path)
    with Watch(not json) as watch:
        data = {"profile": str(path), **measured(path, game, value, device, telling(watch, FLOPS))}
    if json:
        print_json(data)
        return
    from kibitz.report.text import signed

    rows = [
        *([("value", f"{signed(data['value'][0])} chips for player 0")] if value else []),
        *((f"best response, player {k}", f"{signed(each)} chips") for k, each in enumerate(data["best_response"])),
        ("exploitability", f"{data['exploitability']:.6g} chips, {data['exploitability_mbb']:,.3f} mbb/h: exact, over "
                           "all boards of the game"),
    ]  # fmt: skip
    print_pairs(rows)
