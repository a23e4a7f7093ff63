"""Plain twins of what kibitz does fast: short, slow, obviously right. Tests compare the two."""

from __future__ import annotations

import itertools
import math
from collections import Counter

from kibitz.games.protocol import CHANCE, TERMINAL

# Walking the rules of a game


def walk(game, state=None, history=()):
    """Every history of a game with its state, depth first: a pair (actions and outcomes so far, state)."""
    if state is None:
        state = game.root()
    yield history, state
    for action, _ in steps(game, state):
        yield from walk(game, game.after(state, action), (*history, action))


def steps(game, state):
    """What can follow a state, as pairs (action, probability if chance makes it, else None)."""
    turn = game.turn(state)
    if turn == TERMINAL:
        return []
    if turn == CHANCE:
        return list(game.chance(state))
    return [(action, None) for action in game.actions(state)]


def count(game):
    """How many histories are decisions, chance and terminal, and how many infosets there are."""
    kinds = Counter()
    infosets = set()
    for _, state in walk(game):
        turn = game.turn(state)
        kinds["chance" if turn == CHANCE else "terminal" if turn == TERMINAL else "decision"] += 1
        if turn >= 0:
            infosets.add((turn, game.infoset(state)))
    return {"histories": kinds.total(), **kinds, "infosets": len(infosets)}


def forgets(game):
    """Infosets that break perfect recall: a seat gets there after having seen or done different things."""
    past_of = {}
    broken = set()
    stack = [(game.root(), ((),) * game.players)]  # with each seat's own infosets and actions so far
    while stack:
        state, pasts = stack.pop()
        turn = game.turn(state)
        for action, _ in steps(game, state):
            after = pasts
            if turn >= 0:
                key = turn, game.infoset(state)
                if past_of.setdefault(key, pasts[turn]) != pasts[turn]:
                    broken.add(key)
                after = (*pasts[:turn], (*pasts[turn], (key[1], action)), *pasts[turn + 1 :])
            stack.append((game.after(state, action), after))
    return broken


# What a profile is worth. A profile is {(seat, infoset): {action: probability}}.


def as_dict(profile):
    """A kibitz Profile as such a dict."""
    return {(seat, label): row for seat in range(profile.seats) for label, row in profile.items(seat)}


def value(game, profile, state=None):
    """Expected payoff of each seat, by the definition."""
    state = game.root() if state is None else state
    turn = game.turn(state)
    if turn == TERMINAL:
        return list(game.payoff(state))
    total = [0.0] * game.players
    for action, p in steps(game, state):
        p = profile[turn, game.infoset(state)][action] if p is None else p
        if p > 0:
            for seat, x in enumerate(value(game, profile, game.after(state, action))):
                total[seat] += p * x
    return total


def offers(game):
    """{(seat, infoset): actions}, in the order in which a walk meets them."""
    found = {}
    for _, state in walk(game):
        if game.turn(state) >= 0:
            found[game.turn(state), game.infoset(state)] = list(game.actions(state))
    return found


def pure_strategies(game, seat):
    """All pure strategies of a seat, each as {infoset: action}."""
    mine = [(key, actions) for key, actions in offers(game).items() if key[0] == seat]
    for picks in itertools.product(*(actions for _, actions in mine)):
        yield {key: pick for (key, _), pick in zip(mine, picks, strict=True)}


def best_response_by_force(game, profile, seat):
    """The best value over all pure strategies of a seat."""
    table = offers(game)
    best = -math.inf
    for pure in pure_strategies(game, seat):
        answer = {key: {a: float(a == pick) for a in table[key]} for key, pick in pure.items()}
        best = max(best, value(game, {**profile, **answer})[seat])
    return best


def best_response(game, profile, seat):
    """The best value of a seat that remembers what it saw and did: from a set of histories it cannot tell apart,
    weighted by the reach of chance and the others, play to its next decisions and take the best action at each."""

    def onwards(histories):
        total, mine = 0.0, {}
        while histories:
            state, reach = histories.pop()
            turn = game.turn(state)
            if turn == TERMINAL:
                total += reach * game.payoff(state)[seat]
            elif turn == seat:
                mine.setdefault(game.infoset(state), []).append((state, reach))
            else:
                for action, p in steps(game, state):
                    p = profile[turn, game.infoset(state)][action] if p is None else p
                    histories.append((game.after(state, action), reach * p))
        for here in mine.values():
            actions = game.actions(here[0][0])
            total += max(onwards([(game.after(state, a), reach) for state, reach in here]) for a in actions)
        return total

    return onwards([(game.root(), 1.0)])


def nash_conv(game, profile):
    values = value(game, profile)
    return sum(best_response(game, profile, seat) - values[seat] for seat in range(game.players))


# Counterfactual regret minimisation


def largest_payoff(game):
    ends = [game.payoff(state) for _, state in walk(game) if game.turn(state) == TERMINAL]
    return max(abs(x) for payoff in ends for x in payoff) or 1.0


def discount(exponent, t):
    """t^exponent / (t^exponent + 1) with its limits."""
    if exponent == math.inf:
        return 1.0
    if exponent == -math.inf:
        return 0.0
    if t == 0:
        return 0.0 if exponent > 0 else 0.5 if exponent == 0 else 1.0
    return t**exponent / (t**exponent + 1)


class Cfr:
    """The CFR family on histories, by its definitions.

    row      {infoset: row}: infosets of one row share a strategy; their regrets and average weights add up
    frozen   {infoset: {action: probability}}: these decisions are chance, for everybody
    closed   a set of (infoset, action): actions that do not exist
    start    {infoset: {action: probability}}: the first strategy
    before   average the strategy an iteration begins with instead of the one it arrives at
    An infoset is (seat, key).
    """

    def __init__(
        self, game, alpha=math.inf, beta=math.inf, gamma=0.0, delay=0, floor=-math.inf, prediction=0.0,
        alternating=True, row=None, frozen=None, closed=(), start=None, before=False,
    ):  # fmt: skip
        self.game, self.alpha, self.beta, self.gamma, self.delay = game, alpha, beta, gamma, delay
        self.floor, self.prediction, self.alternating, self.before = floor, prediction, alternating, before
        self.frozen, self.closed, self.t = frozen or {}, set(closed), 0
        self.infosets = offers(game)
        self.row = {key: key if row is None else (key[0], row[key]) for key in self.infosets}
        self.open = {
            self.row[key]: [a for a in actions if (key, a) not in self.closed] for key, actions in self.infosets.items()
        }
        self.tiny = 1e-14 * largest_payoff(game)
        self.regret = {row: dict.fromkeys(actions, 0.0) for row, actions in self.open.items()}
        self.total = {row: dict.fromkeys(actions, 0.0) for row, actions in self.open.items()}
        self.strategy = {row: dict.fromkeys(actions, 1 / len(actions)) for row, actions in self.open.items()}
        if start is not None:
            for key, row in self.row.items():
                self.strategy[row] = dict(start[key])

    def at(self, key):
        return self.frozen[key] if key in self.frozen else self.strategy[self.row[key]]

    def regrets(self, seat):
        """The counterfactual regrets of one iteration, by row, against the strategies as they are."""
        found = {row: dict.fromkeys(actions, 0.0) for row, actions in self.open.items() if row[0] == seat}

        def play(state, reach):  # reach: of chance, of frozen decisions, and of the other seats
            turn = self.game.turn(state)
            if turn == TERMINAL:
                return self.game.payoff(state)[seat]
            if turn == CHANCE:
                return sum(p * play(self.game.after(state, o), reach * p) for o, p in self.game.chance(state))
            key = turn, self.game.infoset(state)
            mine = turn == seat and key not in self.frozen
            worth, here = {}, 0.0
            for action, p in self.at(key).items():
                worth[action] = play(self.game.after(state, action), reach if mine else reach * p)
                here += p * worth[action]
            if mine:
                for action in worth:
                    found[self.row[key]][action] += reach * (worth[action] - here)
            return here

        play(self.game.root(), 1.0)
        return found

    def update(self, found):
        for row, instant in found.items():
            wanted = {}
            for action, r in instant.items():
                old = self.regret[row][action]
                kept = old * discount(self.alpha if old > 0 else self.beta, self.t - 1)
                self.regret[row][action] = max(kept + r, self.floor)
                wanted[action] = max(self.regret[row][action] + self.prediction * r, 0.0)
            total = sum(wanted.values())
            for action in wanted:
                self.strategy[row][action] = wanted[action] / total if total > self.tiny else 1 / len(wanted)

    def own_reach(self, seat):
        """{(infoset, own past): probability that the seat's own moving decisions let play come there}."""
        found = {}

        def go(state, reach, past):
            turn = self.game.turn(state)
            key = (turn, self.game.infoset(state)) if turn >= 0 else None
            if turn == seat:
                found[key, past] = reach
            for action, _ in steps(self.game, state):
                if turn != seat:
                    go(self.game.after(state, action), reach, past)
                elif (key, action) not in self.closed:
                    p = 1.0 if key in self.frozen else self.at(key)[action]
                    go(self.game.after(state, action), reach * p, (*past, (key, action)))

        go(self.game.root(), 1.0, ())
        return found

    def average(self, seat):
        weight = (self.t - self.delay) ** self.gamma if self.t > self.delay else 0.0
        for (key, _), reach in self.own_reach(seat).items():
            row = self.row[key]
            for action, p in self.strategy[row].items():
                self.total[row][action] += weight * reach * p

    def step(self, count=1):
        seats = range(self.game.players)
        for _ in range(count):
            self.t += 1
            if self.alternating:
                for seat in seats:
                    if self.before:
                        self.average(seat)
                    self.update(self.regrets(seat))
                    if not self.before:
                        self.average(seat)
            else:
                if self.before:
                    for seat in seats:
                        self.average(seat)
                for found in [self.regrets(seat) for seat in seats]:
                    self.update(found)
                if not self.before:
                    for seat in seats:
                        self.average(seat)
        return self

    def profile(self):
        """The average strategy; uniform over open actions where no weight has come, 0 at closed ones."""
        result = {}
        for key, actions in self.infosets.items():
            if key in self.frozen:
                result[key] = dict(self.frozen[key])
                continue
            weights = self.total[self.row[key]]
            total = sum(weights.values())
            result[key] = {
                a: 0.0 if a not in weights else weights[a] / total if total > 0 else 1 / len(weights) for a in actions
            }
        return result


# Fictitious play on plans


def fictitious_play(game, count):
    """Each seat's plan {(infoset, own past, action): probability} moves 1/(t+1) of the way to a pure best response to
    the others' plans; returned is the behaviour that the plans have. For perfect recall."""
    table = offers(game)

    def own_paths(seat, behaviour):
        """The plan of a behaviour: probability of each own path that ends in an action."""
        plan = {}

        def go(state, reach, past):
            turn = game.turn(state)
            for action, _ in steps(game, state):
                if turn == seat:
                    key = turn, game.infoset(state)
                    path = (*past, (key, action))
                    plan[path] = reach * behaviour[key][action]
                    go(game.after(state, action), plan[path], path)
                else:
                    go(game.after(state, action), reach, past)

        go(game.root(), 1.0, ())
        return plan

    def behaviour_of(plans):
        result = {}
        for plan in plans:
            for path, p in plan.items():
                result.setdefault(path[-1][0], {})[path[-1][1]] = p
        for key, weights in result.items():
            total = sum(weights.values())
            result[key] = {a: w / total if total > 0 else 1 / len(weights) for a, w in weights.items()}
        return result

    def answer(seat, behaviour):
        """A pure best response, the first of equals; where the others never let play come the first action."""
        picks = {}

        def onwards(histories):
            total, mine = 0.0, {}
            while histories:
                state, reach = histories.pop()
                turn = game.turn(state)
                if turn == TERMINAL:
                    total += reach * game.payoff(state)[seat]
                elif turn == seat:
                    mine.setdefault((turn, game.infoset(state)), []).append((state, reach))
                else:
                    for action, p in steps(game, state):
                        p = behaviour[turn, game.infoset(state)][action] if p is None else p
                        histories.append((game.after(state, action), reach * p))
            for key, here in mine.items():
                worth = [onwards([(game.after(s, a), reach) for s, reach in here]) for a in table[key]]
                pick = worth.index(max(worth))
                picks[key] = {a: float(i == pick) for i, a in enumerate(table[key])}
                total += worth[pick]
            return total

        onwards([(game.root(), 1.0)])
        return picks

    seats = range(game.players)
    uniform = {key: dict.fromkeys(actions, 1 / len(actions)) for key, actions in table.items()}
    plans = [own_paths(seat, uniform) for seat in seats]
    for t in range(1, count + 1):
        now = behaviour_of(plans)
        best = [own_paths(seat, answer(seat, now)) for seat in seats]
        plans = [{path: p + (best[s][path] - p) / (t + 1) for path, p in plans[s].items()} for s in seats]
    return behaviour_of(plans)


# Dilated prox functions, by recursion over a seat's points. A treeplex is {sequence: [(actions' sequences, weight)]}.


def points_after(tree, weight):
    """{sequence: the points that follow it}, of a Treeplex."""
    found = {}
    for p in range(tree.points):
        actions = [int(tree.first[p]) + a * int(tree.stride[p]) for a in range(int(tree.width[p]))]
        found.setdefault(int(tree.parent[p]), []).append((actions, float(weight[p])))
    return found


def weights_of(tree, own):
    """w = own + max over actions of the sum of w over the points after it."""
    numbered = points_after(tree, range(tree.points))
    found = [0.0] * tree.points

    def visit(sequence):
        total = 0.0
        for actions, p in numbered.get(sequence, []):
            found[int(p)] = own[int(p)] + max(visit(s) for s in actions)
            total += found[int(p)]
        return total

    visit(0)
    return found


def smoothed_response(after, worth, mu, prox, centre):
    """(max over plans x of <worth, x> - mu d(x), that x as {sequence: probability}), point by point."""
    plan = {0: 1.0}

    def values(sequence):
        """What a sequence is worth with all that follows, and what is played there."""
        total, play = worth[sequence], []
        for actions, weight in after.get(sequence, []):
            below = [values(s) for s in actions]
            at = [v for v, _ in below]
            c = [centre[s] for s in actions]
            share = simplex_best(at, mu * weight, prox, c)
            total += sum(b * v for b, v in zip(share, at, strict=True)) - mu * weight * prox_at(share, c, prox)
            play.append((actions, share, [p for _, p in below]))
        return total, play

    def fill(play, reach):
        for actions, share, below in play:
            for s, b, rest in zip(actions, share, below, strict=True):
                plan[s] = reach * b
                fill(rest, reach * b)

    value, play = values(0)
    fill(play, 1.0)
    return value, plan


def prox_at(b, c, prox):
    """The prox function of one point."""
    if prox == "euclidean":
        return sum((x - y) ** 2 for x, y in zip(b, c, strict=True)) / 2
    return sum(x * math.log(x / y) for x, y in zip(b, c, strict=True) if x > 0)


def simplex_best(worth, m, prox, c):
    """The distribution b that maximises <worth, b> - m prox(b): softmax, or a projection found by bisection."""
    most = max(worth)
    if prox == "entropy":
        parts = [y * math.exp((v - most) / m) for v, y in zip(worth, c, strict=True)]
        return [x / sum(parts) for x in parts]
    target = [y + (v - most) / m for v, y in zip(worth, c, strict=True)]
    low, high = min(target) - 1.0, max(target)
    for _ in range(80):
        level = (low + high) / 2
        if sum(max(t - level, 0.0) for t in target) > 1.0:
            low = level
        else:
            high = level
    return [max(t - high, 0.0) for t in target]


def prox_of(after, plan, prox, centre):
    """d(x): over all points, weight times the plan that leads there times the prox function there."""
    total = 0.0
    for sequence, points in after.items():
        for actions, weight in points:
            if plan[sequence] > 0:
                b = [plan[s] / plan[sequence] for s in actions]
                total += weight * plan[sequence] * prox_at(b, [centre[s] for s in actions], prox)
    return total


# Tournaments


def finished(before, after, prizes):
    """Prizes of those who have no chips left, None for the others: by the chips they began with; equals share."""
    alive = sum(chips > 0 for chips in after)
    gone = sorted((seat for seat, chips in enumerate(after) if chips <= 0), key=lambda seat: -before[seat])
    found = [None] * len(after)
    for seat in gone:
        places = [alive + k for k, other in enumerate(gone) if before[other] == before[seat]]
        found[seat] = sum(prizes[place] for place in places) / len(places)
    return found
