"""kibitz match --boards: what one strategy of two-player poker wins from another, on boards that are drawn."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from kibitz.cli.common import print_json, print_pairs, telling, with_interval
from kibitz.cli.watch import Watch
from kibitz.core.errors import GameError, SolverError


def match_on_boards(
    players: Sequence[str], game: str | None, boards: int, seed: int, device: str, json: bool, watch: Watch
) -> None:
    """boards: last boards of each first board, in each draw."""
    from kibitz.commands import whole_player
    from kibitz.play.agents import check_saved, game_of
    from kibitz.poker.bucketed.device import Device
    from kibitz.poker.rules import acpc
    from kibitz.poker.rules.rules import Poker
    from kibitz.poker.whole.drawn import DRAWS, won_on_drawn_boards
    from kibitz.report.text import duration, plain

    if len(players) != 2:
        raise SolverError(f"--boards is for two players, not {len(players)}")
    Device(device)  # refuses a GPU that is missing, before any work
    check_saved(players)
    text = game if game is not None else game_of(players)
    (rules, one), (others, other) = (whole_player(name, text) for name in players)
    if not isinstance(rules, Poker) or rules.definition.players != 2 or not isinstance(others, Poker):
        raise GameError(f"--boards is for two-player poker, and {rules.spec} is not: leave it out")
    if acpc.write(others.definition) != acpc.write(rules.definition):
        raise GameError(f"{' and '.join(players):.200} play different games: name one that both play")
    began = time.perf_counter()
    tell = telling(watch, "boards: {percent}%")
    won = won_on_drawn_boards(rules, one, other, DRAWS, boards, seed, device, tell)
    seconds, interval = time.perf_counter() - began, (won.mean - won.error, won.mean + won.error)
    per_chip = 1000.0 / max(rules.definition.blinds)
    if json:
        data: dict[str, Any] = {
            "game": rules.spec, "players": list(players), "seed": seed, "mean": won.mean, "interval": list(interval),
            "mbb": per_chip * won.mean, "mbb_error": per_chip * won.error, "boards": won.boards, "seconds": seconds,
        }  # fmt: skip
        print_json(data)
        return
    clear = abs(won.mean) > won.error
    winner = players[0] if won.mean > 0 else players[1]
    print_pairs([
        ("players", plain(" against ".join(players))),
        ("won per hand", with_interval(won.mean, interval)),
        ("", f"{per_chip * won.mean:+,.2f} \u00b1 {per_chip * won.error:,.2f} mbb, the mean of both seats"),
        ("boards", f"{won.boards:,} of the last round; all hands play all hands on each, in both seats"),
        ("time", duration(seconds)),
        ("result", plain(f"{winner} wins" if clear else "no difference that can be told from the draw of boards")),
    ])  # fmt: skip
