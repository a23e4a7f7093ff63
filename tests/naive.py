"""Plain twins of what kibitz does fast: short, slow, obviously right. Tests compare the two."""

from __future__ import annotations

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
