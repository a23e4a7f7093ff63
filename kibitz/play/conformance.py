"""One suite of checks for any game and whatever walks, plays and keeps it: rules, machine, rows, match, agents, search.

    for finding in kibitz.check("my_game.py:Fox"):
        print(finding)

Each check is a sentence that holds for every game. They are run on random play and a little training: they find
mistakes, they prove nothing. `tests/games/test_conformance.py` runs them on the games of kibitz, `kibitz check` on a
game of yours.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from kibitz.core.errors import KibitzError
from kibitz.evaluate.match import MatchResult, match
from kibitz.games.machine import Machine
from kibitz.games.protocol import CHANCE, TERMINAL, Game
from kibitz.games.tree import Tree, tree_of
from kibitz.games.views import view_of
from kibitz.play.agents import agent, blueprint_agent, profile_agent
from kibitz.play.compiled import Compiled
from kibitz.play.search import Search, offered
from kibitz.solvers.blueprint import Blueprint, blueprint_profile
from kibitz.solvers.machines import machine_of
from kibitz.solvers.saved_blueprints import load_blueprint

MEMORY = 1 << 22
LEAST_GAIN = 0.9  # what some training leaves of the uniform profile's NashConv, at most
MUCH = 1000  # times as many iterations as other checks train for
TOLERANCE = 1e-9


class Broken(Exception):
    """What does not hold, in a sentence."""


class Skipped(Exception):
    """Why a check does not apply."""


@dataclass(frozen=True)
class Finding:
    """How a check ended."""

    name: str
    holds: bool | None  # None: it does not apply
    detail: str = ""

    def __str__(self) -> str:
        mark = {True: "ok", False: "BROKEN", None: "-"}[self.holds]
        return f"{mark:7}{self.name}" + (f": {self.detail}" if self.detail else "")


@dataclass
class Subject:
    """A game under test; what several checks need is made once."""

    machine: Machine
    plays: int = 200  # random games
    deals: int = 20
    iterations: int = 60
    interpreted: int = 3  # iterations of the slow twin
    seed: int = 1
    abstraction: str = "null"  # that blueprints are trained in

    @property
    def rules(self) -> Game:
        return self.machine.rules

    @cached_property
    def blueprint(self) -> Blueprint:
        return self.trained(self.iterations)

    def trained(self, iterations: int) -> Blueprint:
        blueprint = Blueprint.empty(self.machine, self.abstraction, MEMORY, self.seed)
        blueprint.train(iterations=iterations)
        return blueprint

    @cached_property
    def player(self) -> Compiled:
        """The blueprint as an agent."""
        return blueprint_agent(self.blueprint, self.machine, "blueprint")

    def against_uniform(self, player: Any, deals: int | None = None) -> MatchResult:
        """A match of a player with uniform ones in the other seats."""
        others = [agent("uniform", self.machine) for _ in range(self.machine.players - 1)]
        return match(self.machine, player, *others, deals=deals or self.deals, seed=self.seed)

    def tree(self) -> Tree:
        """The game laid out, for checks that need it."""
        try:
            return tree_of(self.rules)
        except KibitzError:
            raise Skipped("the game is too large for a tree") from None

    def decisions(self) -> Iterator[tuple[int, Any]]:
        """(seat, state) wherever a seat acts in random games."""
        for states in self.random_plays():
            yield from ((turn, state) for state in states if (turn := self.rules.turn(state)) >= 0)

    def random_plays(self) -> Iterator[list[Any]]:
        """The states of random games, from the root to the end."""
        rng = Random(self.seed)
        for number in range(self.plays):
            hand = self.machine.hand(self.seed, number)
            states = [hand.start()]
            while (turn := self.rules.turn(states[-1])) != TERMINAL:
                if turn == CHANCE:
                    states.append(hand.draw(states[-1]))
                else:
                    actions = self.rules.actions(states[-1])
                    states.append(self.rules.after(states[-1], actions[rng.randrange(len(actions))]))
            yield states


def infosets_have_the_same_actions(subject: Subject) -> None:
    """Histories with the same infoset have the same seat to move and the same actions."""
    seen: dict[Any, tuple[Any, ...]] = {}
    rules = subject.rules
    for turn, state in subject.decisions():
        key, offers = (turn, rules.infoset(state)), tuple(rules.actions(state))
        if not offers or len(set(offers)) < len(offers):
            raise Broken(f"infoset {key[1]!r} offers {offers}: actions are at least one, and all different")
        if seen.setdefault(key, offers) != offers:
            raise Broken(f"infoset {key[1]!r} of seat {turn} offers {seen[key]} and {offers}")


def payoffs_are_one_number_a_seat(subject: Subject) -> None:
    """At the end there is one finite payoff for each seat."""
    for states in subject.random_plays():
        payoffs = [float(x) for x in subject.rules.payoff(states[-1])]
        if len(payoffs) != subject.machine.players or not all(map(math.isfinite, payoffs)):
            raise Broken(f"a game ends with the payoffs {payoffs}")


def chance_sums_to_one(subject: Subject) -> None:
    """Probabilities of chance are above 0 and sum to 1."""
    rules, listed = subject.rules, 0
    for states in subject.random_plays():
        for state in states:
            if rules.turn(state) == CHANCE and listed < subject.plays:
                if hasattr(rules, "sample"):
                    raise Skipped("outcomes are sampled")
                outcomes = rules.chance(state)
                listed += 1
                if abs(sum(p for _, p in outcomes) - 1.0) > TOLERANCE or min(p for _, p in outcomes) <= 0:
                    raise Broken(f"chance has the probabilities {[p for _, p in outcomes][:8]}")


def views_tell_no_secrets(subject: Subject) -> None:
    """What a seat is shown follows from its infoset."""
    rules = subject.rules
    seen: dict[Any, Any] = {}
    if not hasattr(rules, "view"):
        raise Skipped("the game has no method `view`")
    for turn, state in subject.decisions():
        view = view_of(rules, state, turn)
        shown = view.private, view.public
        if seen.setdefault((turn, view.infoset), shown) != shown:
            raise Broken(f"in infoset {view.infoset!r} a seat is shown {shown} and {seen[turn, view.infoset]}")


def rows_are_infosets(subject: Subject) -> None:
    """Under the null abstraction a row is an infoset: the keys of different ones differ."""
    machine, rules = subject.machine, subject.rules
    keys: dict[int, tuple[int, str]] = {}
    view = machine.view("null")
    for turn, state in subject.decisions():
        text, width = str(rules.infoset(state)), len(rules.actions(state))
        key = int(machine.keys_of(view, turn, [text], [width])[0])
        if key == 0 or keys.setdefault(key, (turn, text)) != (turn, text):
            raise Broken(f"infosets {keys.get(key)} and {(turn, text)} have the same key")


def compiled_rules_are_the_rules(subject: Subject) -> None:
    """A compiled match and one that the readable rules play hand by hand end alike."""
    machine = subject.machine
    players = [agent("uniform", machine) for _ in range(machine.players)]
    slow = [Thinking(player) for player in players]
    one, two = (match(machine, *each, deals=subject.deals, seed=subject.seed) for each in (players, slow))
    if (one.scores, one.seats) != (two.scores, two.seats):
        raise Broken(f"{one} when compiled, {two} by the rules")


def walks_have_a_slow_twin(subject: Subject) -> None:
    """Interpreted, walks fill the same rows with the same numbers."""
    from kibitz.games.kernels.dispatch import interpreted
    from kibitz.solvers.kernels.walk import walk_all, workspace

    machine = subject.machine
    if not machine.compiled:
        raise Skipped("the rules are not compiled: the twin is what runs")
    fast, slow = subject.trained(subject.interpreted), subject.trained(0)
    with np.errstate(over="ignore"):
        interpreted(walk_all)(
            machine.game, slow.keys, slow.table, slow.mask(), slow.base_player(), slow.order(), 0, subject.interpreted,
            workspace(machine.depth, 0, machine.actions),
        )  # fmt: skip
    if not (np.array_equal(fast.table.key, slow.table.key) and np.array_equal(fast.table.value, slow.table.value)):
        raise Broken("compiled and interpreted walks differ")


def training_repeats_and_goes_on(subject: Subject) -> None:
    """The same seed gives the same bytes, in one go or in two with a save between."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "b"
        subject.trained(subject.iterations // 2).save(path)
        again = load_blueprint(path, game=subject.machine)
        again.train(iterations=subject.iterations)
    if again.sha256 != subject.blueprint.sha256:
        raise Broken("training that was saved and went on has other rows")


def training_learns(subject: Subject) -> None:
    """A little training brings the exact NashConv down."""
    from kibitz.evaluate import nash_conv
    from kibitz.forms.profile import Profile
    from kibitz.forms.sequence import form_of

    tree = subject.tree()
    blueprint = Blueprint.empty(subject.machine, "null", MEMORY, subject.seed)
    even = nash_conv(tree, Profile(tree.infosets, form_of(tree).uniform(), {"tree": tree.digest}))
    if even <= TOLERANCE:
        raise Skipped("uniform play is an equilibrium")
    trained, most = math.inf, subject.iterations * (MUCH if subject.machine.compiled else 1)
    while trained > max(TOLERANCE, LEAST_GAIN * even) and blueprint.iteration < most:
        blueprint.train(iterations=min(most, max(subject.iterations, 4 * blueprint.iteration)))
        trained = nash_conv(tree, blueprint_profile(blueprint, tree))
    if trained > max(TOLERANCE, LEAST_GAIN * even):
        if not subject.machine.compiled:
            raise Skipped("in plain Python there is no time for enough training")
        raise Broken(f"NashConv is {trained:.4g} after {blueprint.iteration:,} iterations, {even:.4g} of uniform play")


def nobody_wins_from_himself(subject: Subject) -> None:
    """In a duplicate match of equal players all win the same."""
    machine = subject.machine
    result = match(machine, *[subject.player] * machine.players, deals=subject.deals, seed=subject.seed)
    means = [score.mean for score in result.scores]
    if max(means) - min(means) > TOLERANCE * max(1.0, *map(abs, means)):
        raise Broken(f"equal players win {means}")


def agents_are_asked_as_they_are_compiled(subject: Subject) -> None:
    """A blueprint that is asked infoset by infoset plays as the compiled match plays it."""
    fast, slow = (subject.against_uniform(player) for player in (subject.player, Thinking(subject.player)))
    if (fast.scores, fast.seats) != (slow.scores, slow.seats):
        raise Broken(f"{fast} when compiled, {slow} when asked")


def profiles_are_players(subject: Subject) -> None:
    """A profile plays what the blueprint plays that it was made from."""
    if not subject.machine.compiled:
        raise Skipped("the game is too large for a profile")
    twin = profile_agent(blueprint_profile(subject.blueprint, subject.tree()), subject.machine, "profile")
    one, two = (subject.against_uniform(player) for player in (subject.player, twin))
    if one.scores != two.scores:
        raise Broken(f"{one} as a blueprint, {two} as a profile")


def frozen_rows_stay(subject: Subject) -> None:
    """A graft trains the rows of its part alone, and plays its base elsewhere."""
    machine = subject.machine
    if not machine.parts:
        raise Skipped("the game has no parts")
    base = subject.blueprint
    before = base.sha256
    part = len(machine.parts) - 1
    graft = Blueprint.empty(machine, subject.abstraction, MEMORY, subject.seed, base=base, part=part)
    graft.train(iterations=subject.iterations)
    if base.sha256 != before:
        raise Broken("training a graft changed its base")
    player, view, known = blueprint_agent(graft, machine, "graft"), graft.view, set(graft.table.key.tolist())
    for turn, state in subject.decisions():
        seen = view_of(subject.rules, state, turn)
        inside = machine.part_of(turn, seen.infoset) == graft.part
        if not inside and player.act(seen) != subject.player.act(seen):
            raise Broken(f"outside its part, in {seen.infoset!r}, the graft plays otherwise than its base")
        if not inside and int(machine.keys_of(view, turn, [seen.infoset], [len(seen.actions)])[0]) in known:
            raise Broken(f"a row outside the part was trained: {seen.infoset!r}")


def search_answers(subject: Subject) -> None:
    """Where search is offered it gives a distribution at every decision."""
    if not offered(subject.machine):
        raise Skipped("the game offers no subgames here")
    subject.against_uniform(Search(subject.player, iterations=20), min(3, subject.deals))


class Thinking:
    """An agent without its compiled player, so that matches ask it."""

    def __init__(self, of: Any) -> None:
        self.name, self.begin, self.act, self.end = of.name, of.begin, of.act, of.end


CHECKS: tuple[Callable[[Subject], None], ...] = (
    infosets_have_the_same_actions, payoffs_are_one_number_a_seat, chance_sums_to_one, views_tell_no_secrets,
    rows_are_infosets, compiled_rules_are_the_rules, walks_have_a_slow_twin, training_repeats_and_goes_on,
    training_learns, nobody_wins_from_himself, agents_are_asked_as_they_are_compiled, profiles_are_players,
    frozen_rows_stay, search_answers,
)  # fmt: skip


def check(game: Any, how: str = "auto", **sizes: Any) -> Iterator[Finding]:
    """Run all checks on a game. how: compiled, tree or plain, as in kibitz.solvers.machines; sizes: of Subject."""
    subject = Subject(machine_of(game, how), **sizes)
    for each in CHECKS:
        yield run_check(each, subject)


def run_check(each: Callable[[Subject], None], subject: Subject) -> Finding:
    name = (each.__doc__ or each.__name__).strip().rstrip(".")
    try:
        each(subject)
    except Skipped as why:
        return Finding(name, None, str(why))
    except (Broken, KibitzError) as why:
        return Finding(name, False, str(why))
    return Finding(name, True)
