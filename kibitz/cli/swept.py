"""kibitz evaluate --whole: what a strategy within buckets is worth in the whole game, board by board."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kibitz.cli.common import console, print_json, quoted, rules_of
from kibitz.cli.watch import Watch
from kibitz.core.errors import GameError

if TYPE_CHECKING:
    from kibitz.cards.tables import Recipe, Tell
    from kibitz.solvers.blueprint import Blueprint


def evaluate_whole(path: Path, game: str | None, device: str, json: bool, value: bool = False) -> None:
    """Best responses over all boards, and the value if it is asked for; stopped, it goes on from the flops that are
    done."""
    from kibitz.cli.sampled import is_blueprint
    from kibitz.forms.profile import Profile
    from kibitz.games.trusted import recalled
    from kibitz.play.always import PLAIN
    from kibitz.poker.bucketed.device import Device
    from kibitz.poker.whole.profiles import exploited, won

    Device(device)  # a GPU that is missing is said before anything is worked out
    player: Profile | Blueprint | str = str(path)
    if str(path) in PLAIN:
        if game is None:
            raise GameError(f"{path} is played in any game: say which, such as --game holdem.limit.2p")
        text = game
    elif is_blueprint(path):
        from kibitz.solvers.saved_blueprints import load_blueprint

        player = load_blueprint(path, compact=True, game=game)
        text = player.machine.spec
    else:
        player = Profile.load(path)
        text = game or recalled(player.game, path, f"--game {quoted(player.game)}")
    rules: Any = player.game if not isinstance(player, Profile | str) else rules_of(text)
    with Watch(not json) as watch:
        best = exploited(rules, player, flops_told(watch), device)
        worth = won(rules, player, flops_told(watch), device) if value else None
    per_chip, gap = 1000.0 / max(rules.definition.blinds), max(0.0, float(best.sum()))
    data: dict[str, Any] = {
        "profile": str(path), "game": rules.spec, "whole": True,
        **({} if worth is None else {"value": [worth, -worth]}),
        "best_response": best.tolist(), "nash_conv": gap, "exploitability": gap / 2,
        "exploitability_mbb": gap / 2 * per_chip,
    }  # fmt: skip
    if json:
        print_json(data)
        return
    from kibitz.report.text import pairs, signed

    rows = [
        *([] if worth is None else [("value", f"{signed(worth)} chips for the first seat")]),
        *((f"best response, seat {seat}", f"{signed(each)} chips") for seat, each in enumerate(best)),
        ("exploitability", f"{data['exploitability']:.6g} chips, {data['exploitability_mbb']:,.3f} mbb/h: exact, over "
                           "all boards of the game"),
    ]  # fmt: skip
    console().print(pairs(rows))


def flops_told(watch: Watch) -> Tell:
    """Progress of sweeps as words on the line that is shown: one for what is played, one for best responses."""
    began: dict[str, tuple[float, int]] = {}

    def tell(made: Recipe, done: int, pieces: int) -> None:
        from kibitz.report.text import duration

        start, first = began.setdefault(made.name, (time.perf_counter(), done))
        used = time.perf_counter() - start
        left = f", about {duration(used * (pieces - done) / (done - first))} left" if done > first else ""
        watch.phase(f"going through flops: {done:,} of {pieces:,}, {duration(used)} used{left}")

    return tell
