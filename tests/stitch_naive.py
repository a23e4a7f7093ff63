"""Abstraction and stitching straight from their definitions, on histories and dicts: slow, and obviously right.

A profile is {(seat, infoset): {action: probability}}, as in naive.py; an infoset's key is (seat, infoset) throughout.
A derived game is a Game like any other: its frozen decisions are chance, its merged infosets are one, its dropped
actions are not offered. So naive.value, naive.best_response and naive.Cfr say what happens in it.
"""

from __future__ import annotations

import naive

from kibitz.games.protocol import CHANCE, TERMINAL


class Derived:
    """Γ^α of Gibson & Szafron 2011, Def. 2.2, and Γ^j of Def. 3.2.

    bucket   key -> bucket: decisions of a seat with the same bucket are one abstract infoset
    frozen   {key: {action: probability}}: P(h) = C and f_C(a|h) = σ(h, a)
    dropped  a set of (key, action) that the abstract action set leaves out
    """

    def __init__(self, game, bucket=lambda key: key, frozen=None, dropped=()):
        self.game, self.players = game, game.players
        self.bucket, self.frozen, self.dropped = bucket, frozen or {}, set(dropped)

    def __repr__(self):
        return f"Derived({self.game!r})"

    def root(self):
        return self.game.root()

    def key(self, state):
        """(seat, infoset) in the real game."""
        return self.game.turn(state), self.game.infoset(state)

    def turn(self, state):
        turn = self.game.turn(state)
        return CHANCE if turn >= 0 and self.key(state) in self.frozen else turn

    def chance(self, state):
        if self.game.turn(state) == CHANCE:
            return self.game.chance(state)
        return [(action, self.frozen[self.key(state)][action]) for action in self.game.actions(state)]

    def actions(self, state):
        return [a for a in self.game.actions(state) if (self.key(state), a) not in self.dropped]

    def after(self, state, action):
        return self.game.after(state, action)

    def infoset(self, state):
        return self.bucket(self.key(state))

    def payoff(self, state):
        return self.game.payoff(state)

    def lift(self, profile):
        """A profile of this game -> of the real one: frozen decisions as they are, dropped actions never, and the
        uniform distribution where this game never comes."""
        result = {}
        for key, actions in naive.offers(self.game).items():
            if key in self.frozen:
                result[key] = dict(self.frozen[key])
                continue
            left = [a for a in actions if (key, a) not in self.dropped]
            row = profile.get((key[0], self.bucket(key)), dict.fromkeys(left, 1 / len(left)))
            result[key] = {a: row.get(a, 0.0) if a in left else 0.0 for a in actions}
        return result

    def reached(self, state=None):
        """The abstract infosets that no move of chance of probability zero keeps play from."""
        state = self.root() if state is None else state
        here = {(self.turn(state), self.infoset(state))} if self.turn(state) >= 0 else set()
        below = [action for action, p in naive.steps(self, state) if self.turn(state) != CHANCE or p > 0]
        return here.union(*(self.reached(self.after(state, action)) for action in below))

    def stitched(self, profile, base):
        """A profile of this game lifted, with the base's own play where frozen moves never lead: the mean over the
        decisions of the abstract infoset."""
        result, reached = self.lift(profile), self.reached()
        for key in result:
            own = key[0], self.bucket(key)
            if key not in self.frozen and own not in reached:
                alike = [k for k in base if k not in self.frozen and (k[0], self.bucket(k)) == own]
                result[key] = {a: sum(base[k][a] for k in alike) / len(alike) for a in base[key]}
        return result


# Buckets of Leduc and Kuhn, from the cards and not from the infosets' text


def leduc_buckets(game, groups, recall=True):
    """key -> bucket. groups: ("JQ", "K") as in JQ-K, or "suits" for hands up to renaming of suits."""
    found = {}
    for _, state in naive.walk(game):
        turn = game.turn(state)
        if turn < 0:
            continue
        private = state.cards[turn]
        board = state.cards[game.players] if len(state.cards) > game.players else None
        rank, suit = divmod(private, game.suits)
        if groups == "suits":
            # The two ranks, and whether a renaming of suits could tell the two cards' suits apart.
            hand = (rank, None if board is None else (board // game.suits, board % game.suits == suit))
        else:
            group = next(g for g in groups if "JQK"[rank] in g)
            paired = None if board is None else board // game.suits == rank
            hand = (group if recall or board is None else None, paired)
        bucket = (hand, state.done)
        assert found.setdefault((turn, game.infoset(state)), bucket) == bucket
    return found.__getitem__


# Grafting partitions [Waugh et al. 2009, Def. 7; Gibson & Szafron 2011, Def. 3.1]


def own_steps(game):
    """Every decision h with b(h), the players' actions without chance's: pairs (b(h), key)."""

    def go(state, done):
        turn = game.turn(state)
        if turn >= 0:
            yield done, (turn, game.infoset(state))
        for action, _ in naive.steps(game, state):
            yield from go(game.after(state, action), done if turn == CHANCE else (*done, str(action)))

    return list(go(game.root(), ()))


def prefix_parts(game, lists):
    """{key: part} of the b-experts: G_i(b_j) = {h | b_j is a prefix of b(h)}; an infoset that is cut gives -1."""
    found = {}
    for done, key in own_steps(game):
        parts = [j for j, steps in enumerate(lists, 1) if done[: len(steps)] == tuple(steps)]
        part = parts[0] if parts else 0
        if found.setdefault(key, part) != part:
            found[key] = -1
    return found


def is_grafting(game, part_of):
    """Condition 3 by its words: for h in G_{i,j}, j >= 1, and a later h' of the seat, h' is in G_{i,j} or G_{i,0}."""

    def go(state, seen):  # seen: per seat, the parts that its decisions so far were in
        turn = game.turn(state)
        if turn >= 0:
            here = part_of[turn, game.infoset(state)]
            if any(before and here and here != before for before in seen[turn]):
                return False
            seen = (*seen[:turn], seen[turn] | {here}, *seen[turn + 1 :])
        return all(go(game.after(state, action), seen) for action, _ in naive.steps(game, state))

    return go(game.root(), (frozenset(),) * game.players)


def pasts(game):
    """{key: the own decisions and actions before it}, for a game of perfect recall."""
    found = {}

    def go(state, past):
        turn = game.turn(state)
        for action, _ in naive.steps(game, state):
            after = past
            if turn >= 0:
                key = turn, game.infoset(state)
                assert found.setdefault(key, past[turn]) == past[turn]
                after = (*past[:turn], (*past[turn], (key, action)), *past[turn + 1 :])
            go(game.after(state, action), after)

    go(game.root(), ((),) * game.players)
    return found


def random_partition(game, rng, parts):
    """{key: part}: a random grafting partition of a game of perfect recall."""
    found = {}
    for key, past in sorted(pasts(game).items(), key=lambda item: len(item[1])):
        entered = {found[before] for before, _ in past} - {0}
        found[key] = int(rng.choice([0, *entered])) if entered else int(rng.integers(parts + 1))
    return found


def random_buckets(game, rng, frozen=(), share=2):
    """key -> bucket: a random abstraction of perfect recall; frozen decisions are nobody's, and not remembered."""
    found, offered = {}, naive.offers(game)
    for key, past in sorted(pasts(game).items(), key=lambda item: len(item[1])):
        seen = tuple((found[before], action) for before, action in past if before not in frozen)
        found[key] = key if key in frozen else (seen, tuple(offered[key]), int(rng.integers(share)))
    return found.__getitem__


# Experts


_numbers = {}


def told_apart(game, bucket):
    """{key: bucket} in which different abstractions share no bucket and equal ones share all."""
    first, table = {}, {}
    for key in naive.offers(game):
        table[key] = first.setdefault((key[0], key if bucket is None else bucket(key)), key)
    number = _numbers.setdefault(tuple(table.items()), len(_numbers))
    return {key: (number, speaker) for key, speaker in table.items()}


def expert_game(game, base, part_of, part, group, inside, outside, opponents):
    """Γ^part for S = group [Def. 3.2]. inside, outside, opponents: key -> bucket, or None for each its own."""
    inside, outside, opponents = (told_apart(game, which) for which in (inside, outside, opponents))

    def bucket(key):
        here = part_of[key] == part
        return (inside if key[0] in group else opponents if here else outside)[key]

    frozen = {key: row for key, row in base.items() if key[0] in group and part_of[key] != part}
    return Derived(game, bucket, frozen)


def solved(game, iterations, **kind):
    """CFR+ in a game, by its definition: alternating, floor at zero, linear averaging."""
    if not naive.offers(game):
        return {}
    return naive.Cfr(game, **{"gamma": 1.0, "floor": 0.0, **kind}).step(iterations).profile()


def static(game, base, part_of, groups, iterations, inside=None, outside=None, opponents=None):
    """The static expert strategy. groups: pairs (S, seats kept)."""
    result = {key: dict(row) for key, row in base.items()}
    for part in sorted(set(part_of.values()) - {0}):
        for group, keep in groups:
            if not any(part_of[key] == part and key[0] in keep for key in base):
                continue
            derived = expert_game(game, base, part_of, part, group, inside, outside, opponents)
            lifted = derived.stitched(solved(derived, iterations), base)
            for key in base:
                if part_of[key] == part and key[0] in keep:
                    result[key] = lifted[key]
    return result


def dynamic(game, part_of, buckets, iterations):
    """The dynamic expert strategy [Def. 3.3]; buckets: for each part key -> bucket, or None."""
    derived = dynamic_game(game, part_of, buckets)
    return derived.lift(solved(derived, iterations))


def dynamic_game(game, part_of, buckets):
    tables = [told_apart(game, which) for which in buckets]
    return Derived(game, lambda key: tables[part_of[key]][key])


def rebuilt(game, stitched, part_of, bucket, iterations):
    """Part 0 of all seats solved again, the others frozen."""
    frozen = {key: row for key, row in stitched.items() if part_of[key] > 0}
    derived = Derived(game, bucket or (lambda key: key), frozen)
    return derived.stitched(solved(derived, iterations), stitched)


# Comparing with a Tree


def written(game, state=None, names=None):
    """A game as nested tuples in which infosets are numbered in order of their first visit, seat by seat."""
    names = {} if names is None else names
    state = game.root() if state is None else state
    turn = game.turn(state)
    if turn == TERMINAL:
        return ("end", tuple(game.payoff(state)))
    if turn == CHANCE:
        return ("chance", tuple((p, written(game, game.after(state, o), names)) for o, p in game.chance(state)))
    numbers = names.setdefault(turn, {})
    number = numbers.setdefault(game.infoset(state), len(numbers))
    actions = list(game.actions(state))
    return (turn, number, tuple((str(a), written(game, game.after(state, a), names)) for a in actions))


def written_tree(tree):
    """A Tree in the same form."""
    start, child = tree.children
    ends = {int(h): i for i, h in enumerate((tree.turn == TERMINAL).nonzero()[0])}
    names = {}

    def go(h):
        turn = int(tree.turn[h])
        below = [int(c) for c in child[start[h] : start[h + 1]]]
        if turn == TERMINAL:
            return ("end", tuple(tree.payoff[ends[h]].tolist()))
        if turn == CHANCE:
            return ("chance", tuple((float(tree.chance[c]), go(c)) for c in below))
        infoset = int(tree.infoset[h])
        numbers = names.setdefault(turn, {})
        number = numbers.setdefault(infoset, len(numbers))
        assert tree.infosets.seat_of(infoset) == turn
        actions = tree.infosets.actions[tree.infosets.actions_of[infoset]]
        assert [int(tree.action[c]) for c in below] == list(range(len(actions)))
        return (turn, number, tuple((str(a), go(c)) for a, c in zip(actions, below, strict=True)))

    return go(0)
