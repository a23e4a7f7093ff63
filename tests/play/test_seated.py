"""Every kind of saved strategy sits down at a table: made tiny, saved, read by its path, and played, in one process and
over the ACPC protocol where the game is poker. Nothing illegal happens, and chips are conserved."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from acpc_tables import LONG, hands_of, in_threads, joined, whole
from no_limit import AnySize, small_file
from test_row_experts import TINY

import kibitz
from kibitz.evaluate.match import chosen, draws
from kibitz.games import game as make_game
from kibitz.games.protocol import CHANCE, TERMINAL
from kibitz.games.views import View, view_of
from kibitz.play.agents import agent
from kibitz.poker.acpc.client import Client
from kibitz.poker.acpc.dealer import Dealer
from kibitz.poker.acpc.wire import connected
from kibitz.solvers.kernels.players import AVERAGE
from kibitz.solvers.machines import playable
from kibitz.solvers.new_blueprints import BlueprintOptions
from kibitz.stitch import Limit, dynamic, static

HANDS = 50
LEDUC, FORM, RHODE = "leduc", "poker(file=leduc)", "rhode_island(ranks=4, suits=2)"
OWN = '''"""A card each; the first to act names a number, the other answers."""
from kibitz import CHANCE, TERMINAL


class Call:
    players = 2

    def root(self):
        return ()

    def turn(self, state):
        return (CHANCE, 0, 1, TERMINAL)[len(state)]

    def chance(self, state):
        return [("low", 0.5), ("high", 0.5)]

    def actions(self, state):
        return ["one", "two", "three"] if len(state) == 1 else ["yes", "no"]

    def after(self, state, action):
        return (*state, action)

    def infoset(self, state):
        return f"holds {state[0]}" if len(state) == 1 else f"hears {state[1]}"

    def payoff(self, state):
        win = {"one": 1, "two": 2, "three": 3}[state[1]] * (1 if state[0] == "high" else -1)
        won = win if state[2] == "yes" else 0.5
        return [won, -won]
'''

Made = tuple[Any, str]  # what is saved, and the game that it plays


def solved(game: str, solver: str = "cfr", **options: Any) -> Callable[[Path], Made]:
    return lambda folder: (kibitz.solve(game, solver, **{"iterations": 3, **options}), game)


def trained(game: str, **options: Any) -> Callable[[Path], Made]:
    options = {"iterations": 50, "options": BlueprintOptions(1 << 21), "threads": 1, **options}
    return lambda folder: (kibitz.train(game, **options), game)


def tree_experts(folder: Path) -> Made:
    base = kibitz.solve(LEDUC, "cfr", iterations=3)
    return static(LEDUC, base, "prefix(r, cr)", "each", iterations=3), LEDUC


def tree_dynamic(folder: Path) -> Made:
    return dynamic(LEDUC, "prefix(r, cr)", ["J.KQ", "null"], iterations=3), LEDUC


def form_experts(folder: Path) -> Made:
    base = kibitz.solve(FORM, "cfr+", iterations=3)
    return static(make_game(FORM), base, "prefix(r, cr)", "all", iterations=3), FORM


def view_experts(folder: Path) -> Made:
    base = kibitz.solve(FORM, "pcs", abstraction="percentile(2)", iterations=3)
    return static(FORM, base, "prefix(r, cr)", "all", "percentile(3)", solver="pcs", iterations=3), FORM


def view_dynamic(folder: Path) -> Made:
    return dynamic(FORM, "prefix(r, cr)", ["percentile(2)", "percentile(3)"], solver="pcs", iterations=3), FORM


def graft(folder: Path) -> Made:
    how = {"iterations": 50, "options": BlueprintOptions(1 << 21), "threads": 1}
    return kibitz.train(FORM, base=kibitz.train(FORM, **how), part="round 2", **how), FORM


def three(folder: Path) -> str:
    path = folder / "tiny.game"
    path.write_text(TINY)
    return str(path)


def rows(folder: Path) -> Made:
    game = three(folder)
    return kibitz.train(game, iterations=50, threads=1, options=BlueprintOptions(limit=600)), game


def rows_dynamic(folder: Path) -> Made:
    game = three(folder)
    return kibitz.train(game, iterations=50, threads=1, options=BlueprintOptions(limit=2000, dynamic=("f", "rf"))), game


def rows_stitched(folder: Path) -> Made:
    base, game = rows(folder)
    made = static(game, base, "prefix(f)", "all", Limit(2000), keep=folder / "experts", iterations=50, threads=1)
    return made, game


def own(folder: Path) -> str:
    path = folder / "call.py"
    path.write_text(OWN)
    return f"{path}:Call"


def fewer(make: Callable[[str], Any]) -> Callable[[Path], Made]:
    """A strategy of fewer bets, in the game of all of them."""

    def made(folder: Path) -> Made:
        game = small_file(folder)
        return make(f'poker(file="{game}", bets=[0.5, 1, allin], raises=3)'), game

    return made


KINDS: dict[str, Callable[[Path], Made]] = {
    "tree, kuhn": solved("kuhn"),
    "tree, leduc": solved(LEDUC),
    "tree, leduc for three": solved("leduc(players=3)", iterations=1),
    "tree, leduc within an abstraction": solved(LEDUC, abstraction="J.KQ"),
    "tree, liar's dice": solved("liars_dice(dice_sides=3)"),
    "tree, toepen": solved("toepen(suits=2, ranks=2, hand=2)"),
    "tree, experts": tree_experts,
    "tree, dynamic experts": tree_dynamic,
    "poker form": solved(FORM, "cfr+"),
    "poker form, kuhn": solved("poker(file=kuhn)", "cfr+"),
    "poker form, rhode island": solved(RHODE, "cfr+"),
    "poker form, experts": form_experts,
    "bucket form": solved(FORM, "cfr+", abstraction="percentile(2)"),
    "bucket form, rhode island": solved(RHODE, "cfr+", abstraction="percentile(2)"),
    "sampled boards": solved(FORM, "pcs", abstraction="percentile(2)"),
    "sampled boards, buckets that forget": solved(FORM, "pcs", abstraction="percentile(2, recall=false)"),
    "sampled boards, experts": view_experts,
    "sampled boards, dynamic experts": view_dynamic,
    "blueprint, poker": trained(FORM),
    "blueprint, poker within buckets": trained(FORM, abstraction="percentile(2)"),
    "blueprint, rhode island": trained(RHODE),
    "blueprint, kuhn": trained("poker(file=kuhn)"),
    "blueprint, hold'em": trained("holdem.limit.2p", iterations=5),
    "blueprint, hold'em for three": trained("holdem.limit.3p", iterations=2),
    "blueprint, leduc as a tree": trained(LEDUC),
    "blueprint, liar's dice": trained("liars_dice(dice_sides=3)"),
    "blueprint, toepen": trained("toepen(suits=2, ranks=2, hand=2)"),
    "blueprint, three": lambda folder: trained(three(folder))(folder),
    "blueprint, a graft": graft,
    "rows by place": rows,
    "rows by place, dynamic experts": rows_dynamic,
    "rows by place, experts": rows_stitched,
    "own game": lambda folder: solved(own(folder))(folder),
    "own game, blueprint": lambda folder: trained(own(folder))(folder),
    "fewer bets": fewer(lambda game: kibitz.solve(game, "cfr+", iterations=3)),
    "fewer bets, blueprint": fewer(lambda game: trained(game)(Path())[0]),
    "fewer bets, buckets": fewer(lambda game: kibitz.solve(game, "cfr+", iterations=3, abstraction="percentile(2)")),
}


class Checked:
    """An agent whose every answer is held against the actions that there are."""

    def __init__(self, agent: Any) -> None:
        self.agent, self.name, self.answers = agent, agent.name, 0

    def begin(self, seat: int) -> None:
        self.agent.begin(seat)

    def act(self, view: View) -> list[float]:
        found = [float(p) for p in self.agent.act(view)]
        assert len(found) == len(view.actions) and min(found) >= 0.0 and sum(found) == pytest.approx(1.0)
        self.answers += 1
        return found

    def end(self, view: View, payoff: float) -> None:
        self.agent.end(view, payoff)


def played(machine: Any, mine: Checked) -> float:
    """What it wins in HANDS hands against uniform play, hand by hand in Python."""
    rules, others, won = machine.rules, agent("uniform", machine), 0.0
    for number in range(HANDS):
        seat = number % machine.players
        seats: list[Any] = [mine if k == seat else others for k in range(machine.players)]
        hand = machine.hand(7, number)
        state, numbers = hand.start(), draws(hand.after)
        for k, each in enumerate(seats):
            each.begin(k)
        while (turn := rules.turn(state)) != TERMINAL:
            if turn == CHANCE:
                state = hand.draw(state)
                continue
            view = view_of(rules, state, turn)
            state = rules.after(state, view.choices[chosen(list(seats[turn].act(view)), next(numbers))])
        payoffs = [float(x) for x in rules.payoff(state)]
        assert sum(payoffs) == pytest.approx(0.0, abs=1e-9)
        for k, each in enumerate(seats):
            each.end(view_of(rules, state, k), payoffs[k])
        won += payoffs[seat]
    return won


def over_the_protocol(machine: Any, mine: Any, log: Path) -> None:
    """A client, against agents at the dealer that bet any size."""
    names = ["me", "you", "they"][: machine.players]
    others = {name: AnySize(3) for name in names[1:]}
    dealer = Dealer(machine, HANDS, 7, names, others, log=log, timeout=LONG)
    ((_, port),) = dealer.open()
    said: list[str] = []
    client = Client(machine.rules, machine, mine, 7, note=said.append)
    threads, results = in_threads(lambda: client.play(connected("127.0.0.1", port, LONG), LONG))
    outcome = dealer.play()
    joined(threads)
    assert not said and not outcome.invalid and not outcome.gone and not outcome.late
    assert results[0].hands == HANDS and results[0].total == pytest.approx(outcome.totals[0])
    found = hands_of(log, machine.rules)
    assert len(found) == HANDS and sum(outcome.totals) == pytest.approx(0.0, abs=1e-6)
    whole(log, outcome, machine.rules)


# Compiling what each kind is played by takes minutes: `make test` has these, `make test-all` all.
QUICK = ("tree, leduc", "poker form", "bucket form", "own game", "fewer bets")
SLOW = tuple(kind for kind in KINDS if kind not in QUICK)


@pytest.mark.parametrize("kind", [pytest.param(kind, marks=[pytest.mark.slow] * (kind in SLOW)) for kind in KINDS])
def test_a_saved_strategy_is_seated(kind: str, tmp_path: Path) -> None:
    seated(kind, tmp_path, kind in SLOW or not kind.startswith("rows"))


@pytest.mark.slow
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind.startswith("rows")])
def test_compiled_matches_of_rows_by_place_are_the_same(kind: str, tmp_path: Path) -> None:
    seated(kind, tmp_path, True)


def seated(kind: str, tmp_path: Path, compiled: bool) -> None:
    made, game = KINDS[kind](tmp_path)
    path = str(tmp_path / re.sub(r"\W+", "_", kind))
    made.save(path)
    machine = playable(game)
    mine = agent(path, machine)
    checked = Checked(mine)
    played(machine, checked)
    assert checked.answers >= HANDS // 2
    player = getattr(mine, "player", None)
    if compiled and player is not None and machine.compiled:  # the compiled match does what `act` does
        others = [agent("uniform", machine)] * (machine.players - 1)
        assert int(player.kind) == AVERAGE
        fast = kibitz.match(machine, mine, *others, deals=20, seed=7)
        slow = kibitz.match(machine, checked, *others, deals=20, seed=7)
        assert fast.mean == pytest.approx(slow.mean, abs=1e-9)
    if hasattr(machine.rules, "definition"):
        over_the_protocol(machine, mine, tmp_path / "match.log")
