"""Betting without a tree: the betting of a round is stored once, with a table of how rounds follow each other.

In limit games without stacks the betting of a round depends on who is still in, and on nothing else that happened. So
it is a *template*: a small tree whose leaves are ends of the hand or *exits* to the next round. A way of coming to a
round is an *instance* of a template. The k-th exit of an instance leads to the instance `next` + k; so three-player
hold'em, whose betting tree has 24,142,345 nodes, takes 205,038 instances and 1,238 nodes of templates.

A betting node is known by one word: the number of an instance, and in the lower half a node of its template. Nodes of
the first round come first and have one instance, so *places* tell betting apart as finely as strategies are cut: a
place is a node of the first round, or an instance of a later one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kibitz.core.errors import GameError
from kibitz.games.protocol import CHANCE
from kibitz.poker.rules import betting
from kibitz.poker.rules.acpc import Definition
from kibitz.poker.rules.betting import Bets

Ints = NDArray[np.int64]
EXIT = 1 << 31  # of a child: the rest is the number of an exit
HALF = 32  # bits of a node in a word
MOST_INSTANCES = 50_000_000


class Template(NamedTuple):
    """The betting of a round among some seats. Children are nodes of this template, or -1 - k for its k-th exit."""

    round: int
    folded: tuple[bool, ...]
    turn: list[int]
    actions: list[tuple[str, ...]]  # none at ends
    children: list[list[int]]
    paid: list[tuple[int, ...]]  # chips that each seat has put in since the round began
    gone: list[tuple[bool, ...]]  # who has folded
    exits: list[tuple[tuple[bool, ...], tuple[int, ...]]]  # who has folded, chips put in


@dataclass(frozen=True, eq=False)
class Rounds:
    """All betting of a limit game: N nodes of templates, E ends, I instances, n seats."""

    definition: Definition
    turn: NDArray[np.int8]  # [N]  a seat, or TERMINAL
    round: NDArray[np.int32]  # [N]
    first: Ints  # [N + 1]  where a node's children begin
    child: NDArray[np.uint32]  # nodes, or EXIT and the number of an exit
    actions: list[tuple[str, ...]]  # the different lists of actions
    actions_of: NDArray[np.int32]  # [N]  which of them; -1 at ends
    paid: Ints  # [N, n]  chips put in since the round began; in the first round all, blinds too
    folded: NDArray[np.bool_]  # [N, n]
    template_of: NDArray[np.int32]  # [N]
    begin: Ints  # [templates + 1]  the nodes of each
    root: NDArray[np.uint32]  # [I]  the first node of an instance
    next: NDArray[np.uint32]  # [I]  the instance that its first exit leads to
    carried: Ints  # [I, n]  chips put in before its round
    instances: Ints  # [rounds + 1]  the instances of each round

    def __len__(self) -> int:
        return len(self.turn)

    @property
    def nodes(self) -> int:
        """Nodes of the betting tree that this stands for; where a round's cards come is one too."""
        return int(self._sizes[self.template].sum())

    @property
    def decisions(self) -> Ints:
        """[rounds]  decisions of the betting tree."""
        own = np.add.reduceat(self.turn >= 0, self.begin[:-1], dtype=np.int64)[self.template]
        return np.add.reduceat(own, self.instances[:-1])

    @cached_property
    def template(self) -> NDArray[np.int32]:
        """[I]  of each instance."""
        return np.asarray(self.template_of[self.root])

    @cached_property
    def _sizes(self) -> Ints:
        """[templates]  nodes and exits."""
        exits = np.concatenate([[0], np.cumsum(self.child >= EXIT)])[self.first[self.begin]]
        return np.diff(self.begin) + np.diff(exits)

    # Places

    @property
    def early(self) -> int:
        """Nodes of the first round."""
        return int(self.begin[1])

    @property
    def places(self) -> int:
        return self.early + len(self.root) - 1

    @cached_property
    def round_of_place(self) -> NDArray[np.int32]:
        later: NDArray[np.int32] = self.round[self.root[1:]]
        return np.concatenate([np.zeros(self.early, np.int32), later])

    def place(self, word: int) -> int:
        """The place of a betting node."""
        instance = word >> HALF
        return self.early + instance - 1 if instance else word & ((1 << HALF) - 1)

    # Text

    def word(self, text: str) -> int:
        """The betting node after some betting in the competition's letters: "rc/cr"."""
        instance, node = 0, 0
        for action in _letters(text):
            at = int(self.actions_of[node])
            if at < 0 or action not in self.actions[at]:
                raise KeyError(text)
            child = int(self.child[self.first[node] + self.actions[at].index(action)])
            if child >= EXIT:
                instance = int(self.next[instance]) + child - EXIT
                child = int(self.root[instance])
            node = child
        return instance << HALF | node


def _letters(text: str) -> list[str]:
    return [action for said in text.split("/") for action in betting.words(said)]


def fits(definition: Definition) -> bool:
    """Whether the betting of a round depends on who is in, and on nothing else."""
    return definition.limit and definition.stacks is None and not definition.board[0]


def rounds_of(definition: Definition) -> Rounds:
    """All betting of a limit game without stacks."""
    if not fits(definition):
        raise GameError(
            f"the betting of {definition.name or 'this poker game'} depends on stacks or raise sizes, so it needs a "
            "betting tree"
        )
    templates, number = [_template(definition, betting.start(definition))], {}
    reached = [templates[0]]
    while reached:  # templates by round, and in the order in which exits lead to them
        ahead: list[Template] = []
        for template in reached:
            for folded, _ in template.exits:
                key = template.round + 1, folded
                if key not in number:
                    number[key] = len(templates)
                    templates.append(_template(definition, _opened(definition, *key)))
                    ahead.append(templates[-1])
        reached = ahead
    return _laid_out(definition, templates, number)


def _opened(definition: Definition, level: int, folded: tuple[bool, ...]) -> Bets:
    """A round's first decision, as if nobody had paid anything."""
    waiting = Bets(CHANCE, level, (0,) * definition.players, folded, 0, 0, 0)
    return betting.deal(definition, waiting)


def _template(definition: Definition, begin: Bets) -> Template:
    """The betting of a round, in preorder."""
    template = Template(begin.round, begin.folded, [], [], [], [], [], [])

    def visit(bets: Bets) -> int:
        if bets.turn == CHANCE:
            template.exits.append((bets.folded, bets.paid))
            return -len(template.exits)
        at = len(template.turn)
        offer = betting.actions(definition, bets) if bets.turn >= 0 else ()
        template.turn.append(bets.turn)
        template.actions.append(offer)
        template.paid.append(bets.paid)
        template.gone.append(bets.folded)
        template.children.append([])
        for action in offer:
            template.children[at].append(visit(betting.act(definition, bets, action)))
        return at

    visit(begin)
    return template


def _laid_out(
    definition: Definition, templates: list[Template], number: dict[tuple[int, tuple[bool, ...]], int]
) -> Rounds:
    """Templates one after another, and all instances."""
    begin = np.concatenate([[0], np.cumsum([len(each.turn) for each in templates])]).astype(np.int64)
    offers: dict[tuple[str, ...], int] = {}
    child: list[int] = []
    first, offered = [0], []
    for template, base in zip(templates, begin.tolist(), strict=False):
        for offer, below in zip(template.actions, template.children, strict=True):
            child += [EXIT - 1 - k if k < 0 else base + k for k in below]
            first.append(len(child))
            offered.append(offers.setdefault(offer, len(offers)) if offer else -1)
    root, follow, carried = [np.zeros(1, np.int64)], [np.array([1])], [np.zeros((1, definition.players), np.int64)]
    instances = [0, 1]
    kinds = np.zeros(1, np.int64)  # the templates of a round's instances
    for level in range(1, definition.rounds):
        counts = np.array([len(each.exits) for each in templates])
        each = counts[kinds]
        total = int(each.sum())
        if instances[-1] + total > MOST_INSTANCES:
            raise GameError(
                f"there are more than {MOST_INSTANCES:,} betting sequences up to round {level + 1}: allow fewer "
                "raises"
            )
        follow[-1] = instances[-1] + np.cumsum(each) - each
        leads = [[number[template.round + 1, folded] for folded, _ in template.exits] for template in templates]
        adds = [np.array([paid for _, paid in template.exits], np.int64) for template in templates]
        start = np.cumsum(counts) - counts
        flat = np.repeat(start[kinds], each) + np.arange(total) - np.repeat(np.cumsum(each) - each, each)
        to = np.concatenate([np.array(lead, np.int64) for lead in leads])
        added = np.concatenate([add for add in adds if len(add)])
        carried.append(np.repeat(carried[-1], each, axis=0) + added[flat])
        kinds = to[flat]
        root.append(begin[kinds])
        follow.append(np.zeros(total, np.int64))
        instances.append(instances[-1] + total)
    return Rounds(
        definition,
        np.array([turn for each in templates for turn in each.turn], np.int8),
        np.repeat([each.round for each in templates], np.diff(begin)).astype(np.int32),
        np.array(first, np.int64),
        np.array(child, np.uint32),
        list(offers),
        np.array(offered, np.int32),
        np.array([paid for each in templates for paid in each.paid], np.int64),
        np.array([gone for each in templates for gone in each.gone], np.bool_),
        np.repeat(np.arange(len(templates)), np.diff(begin)).astype(np.int32),
        begin,
        np.concatenate(root).astype(np.uint32),
        np.concatenate(follow).astype(np.uint32),
        np.concatenate(carried),
        np.array(instances, np.int64),
    )
