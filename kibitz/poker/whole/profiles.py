"""Values of strategies in the whole game: sweeps of profiles and blueprints of buckets, and of plain ones by name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations

import numpy as np

from kibitz.cards.tables import Tell
from kibitz.core.errors import GameError
from kibitz.forms.profile import Profile
from kibitz.forms.protocol import Measure
from kibitz.play.always import PLAIN
from kibitz.poker.blueprints.exact import BettingRows
from kibitz.poker.buckets.buckets import hand_buckets
from kibitz.poker.rules import acpc
from kibitz.poker.rules.rules import Poker
from kibitz.poker.sampled.layout import viewed
from kibitz.poker.whole.strategy import NodeStrategy, always, within_views
from kibitz.poker.whole.together import SweepTask, swept
from kibitz.poker.whole.walk import BEST, PLAYED, Floats, Sweep, check
from kibitz.solvers.blueprint import Blueprint

Player = Profile | Blueprint | str


def node_strategy(game: Poker, player: Player) -> NodeStrategy:
    """What a player does, in either seat."""
    check(game)
    if isinstance(player, Blueprint):
        return of_blueprint(game, player)
    if isinstance(player, str):
        if player not in PLAIN:
            raise GameError(f"{player} is not a simple strategy: choose {', '.join(PLAIN)}, or a profile of buckets")
        return always(game.betting, PLAIN[player])
    compact = player.infosets.compact
    layout = None if compact is None else viewed(compact.form)
    if layout is None:
        raise GameError("a sweep evaluates profiles of abstract games; this profile is unabstracted: use kibitz "
                        "evaluate")
    if acpc.write(layout.definition) != acpc.write(game.definition):
        raise GameError(f"the profile was made for another game ({player.game or 'without a name'})")
    buckets = [hand_buckets(game.definition, view.name) for view in layout.views]
    return within_views(layout, buckets, player.probabilities, player.sha256)


def of_blueprint(game: Poker, blueprint: Blueprint) -> NodeStrategy:
    """Either seat's strategy of a blueprint of buckets."""
    rows = BettingRows(blueprint, game.betting)
    for number, voice in enumerate(rows.voices):
        if voice.buckets is None and (rows.of_node[rows.deciding] == number).any():
            raise GameError(
                "--whole is for strategies with buckets, and this blueprint was trained with "
                f"{voice.blueprint.abstraction}: train one with --abstraction 'percentile(8)', or leave --whole out"
            )
    sources = tuple(voice.buckets for voice in rows.voices)
    level = np.minimum(game.betting.round, game.definition.rounds - 1)

    def rows_at(node: int) -> Floats:
        source = sources[rows.of_node[node]]
        assert source is not None
        return rows.rows(node, np.arange(source.counts[int(level[node])]))

    return NodeStrategy(sources, rows.of_node, rows_at, blueprint.sha256)


def exploited(game: Poker, player: Player, tell: Tell | None = None, device: str = "cpu") -> Floats:
    """[2]  what best responses of each seat win from a player, over all boards of the game. device: cpu or gpu.

    Half their sum is the exploitability: what the player itself wins is the same for both seats but for the sign.
    """
    return Sweep(game, (node_strategy(game, player),) * 2, device=device).best(tell)


def won(game: Poker, player: Player, tell: Tell | None = None, device: str = "cpu") -> float:
    """What the first seat wins where a player plays itself, over all boards of the game."""
    return Sweep(game, (node_strategy(game, player),) * 2, device=device).value(tell)


def measured(game: Poker, player: Player, tell: Tell | None = None, device: str = "cpu") -> Measure:
    """Value and best responses of a player against itself, over all boards of the game. device: cpu or gpu."""
    best, value = exploited(game, player, tell, device), won(game, player, tell, device)
    values = np.array([value, -value])
    return Measure(values, best, max(0.0, float((best - values).sum())))


@dataclass(frozen=True)
class FieldMeasure:
    """What players of a field get, over all boards of the game, in chips."""

    best: list[Floats]  # by player, [2]  what best responses of each seat win from it
    values: Floats | None = None  # [players, players]  what seat 0 gets: the row there, the column in seat 1

    @property
    def earnings(self) -> Floats | None:
        """[players, players]  what the row wins from the column, the mean of both seats."""
        return None if self.values is None else (self.values - self.values.T) / 2


def measured_together(
    game: Poker, players: Sequence[Player], tell: Tell | None = None, device: str = "cpu", values: bool = False
) -> FieldMeasure:
    """Best responses to several players in one pass over the boards. values: also what each wins from each, itself
    included, which is a sweep of half the work for each ordered pair. Figures are those of one at a time, to the
    bit."""
    strategies = [node_strategy(game, player) for player in players]
    count = len(strategies)
    sweeps = {(k, k): Sweep(game, (each, each), device=device) for k, each in enumerate(strategies)}
    tasks = [SweepTask(sweep, (0, 1), BEST) for sweep in sweeps.values()]
    if values:
        for pair in permutations(range(count), 2):
            sweeps[pair] = Sweep(game, (strategies[pair[0]], strategies[pair[1]]), device=device)
        tasks += [SweepTask(sweep, (0,), PLAYED) for sweep in sweeps.values()]
    answers = swept(tasks, tell)
    if not values:
        return FieldMeasure(answers)
    table = np.zeros((count, count))
    for (one, other), value in zip(sweeps, answers[count:], strict=True):
        table[one, other] = value[0]
    return FieldMeasure(answers[:count], table)


def against(
    game: Poker, one: Player, other: Player, tell: Tell | None = None, device: str = "cpu"
) -> tuple[float, float]:
    """What `one` wins from `other` in seat 0 and in seat 1. device: cpu or gpu."""
    first, second = sweeps_of(game, one, other, device)
    return first.value(tell), -second.value(tell)


def sweeps_of(game: Poker, one: Player, other: Player, device: str = "cpu") -> tuple[Sweep, Sweep]:
    """Two players, `one` in seat 0 and in seat 1."""
    mine, his = node_strategy(game, one), node_strategy(game, other)
    return Sweep(game, (mine, his), device=device), Sweep(game, (his, mine), device=device)
