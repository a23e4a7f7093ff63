"""Decisions of solved spots as the page shows them: of two players, of three, and before the flop.

All three have the same form. What a kind of spot does not know (equities of three players) is null, and the page leaves
it out.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.cards.deck import name
from kibitz.cards.holdem import class_names, class_sizes
from kibitz.cards.ranges import hand_cards, parse_range
from kibitz.poker.multiway.solution import MultiwayNode
from kibitz.poker.preflop.solution import PreflopNode
from kibitz.poker.spots.solution import SpotNode
from kibitz.poker.spots.spot import PLAYERS
from kibitz.poker.spots.tables import action_means, grid_of_hands, hand_names

Floats = NDArray[np.float64]
KINDS = ("high card", "pair", "two pairs", "three of a kind", "straight", "flush", "full house", "four of a kind",
         "straight flush")  # fmt: skip
FLUSH_DRAW = "flush draw"
LEAST = 1e-9  # of the hand that comes most often: rarer ones are left out


def range_data(text: str) -> dict[str, Any]:
    """A range as weights of the 169 classes of hands, for the editor."""
    weights = parse_range(text).weights if text.strip() else np.zeros(1326)
    cell, texts = grid_of_hands()
    count = np.bincount(cell, minlength=169)
    mean = np.bincount(cell, weights, 169) / count
    low, high = np.full(169, np.inf), np.full(169, -np.inf)
    np.minimum.at(low, cell, weights)
    np.maximum.at(high, cell, weights)
    return {"weights": dict(zip(texts, mean.round(4).tolist(), strict=True)),
            "mixed": [texts[k] for k in np.flatnonzero(high - low > 1e-9)],  # classes whose hands differ
            "hands": float(weights.sum()), "share": float(weights.sum() / 1326)}  # fmt: skip


# Answers


def two_data(node: SpotNode) -> dict[str, Any]:
    """A decision of two players: their hands by name, and what the player to act does with each."""
    means = zip(node.actions, node.frequencies, action_means(node), strict=True)
    actions = [{"name": action, "share": float(share), "value": _plain(value)} for action, share, value in means]
    kind = "end" if node.is_over else "chance" if node.player is None else "decision"
    return {
        "line": node.line, "steps": _steps(node), "kind": kind, "seat": node.turn if node.player else None,
        "player": node.player, "board": [name(card) for card in node.board], "pot": node.pot,
        "paid": node.paid.tolist(), "reach": node.reach, "values": _rounded(node.mean_values),
        "equities": _rounded(node.mean_equities), "gains": _rounded(node.gains), "actions": actions,
        "cards": [name(card) for card in node.cards], "players": [_hands(node, seat) for seat in (0, 1)],
    }  # fmt: skip


def _steps(node: SpotNode) -> list[dict[str, Any]]:
    """The line, step by step, with who acted."""
    steps, here = [], node.solution.at()
    for word in node.line.split(", ") if node.line else ():
        seat = here.turn if here.player else -1
        here = here.after(word)
        steps.append({"word": word, "seat": seat, "line": here.line})
    return steps


def _hands(node: SpotNode, seat: int) -> dict[str, Any]:
    """A player's hands here, as columns: name, kind, how likely, equity, value, and what they do."""
    weights = node.weights[seat]
    here = np.flatnonzero(weights > 0)[::-1]
    texts, cell = hand_names(), grid_of_hands()
    columns: dict[str, Any] = {
        "player": PLAYERS[seat], "seat": seat, "hands": [texts[hand] for hand in here],
        "classes": [cell[1][cell[0][hand]] for hand in here], "kinds": kinds_of(node.board)[here].tolist(),
        "shares": _rounded(weights[here] / max(float(weights.sum()), 1e-300), 7),
        "equities": _rounded(node.equities[seat][here]), "values": _rounded(node.values[seat][here]),
    }  # fmt: skip
    if node.turn == seat:
        columns["strategy"] = [_rounded(row[here]) for row in node.strategy]
        columns["action_values"] = [_rounded(row[here]) for row in node.action_values]
    return columns


@lru_cache(64)
def kinds_of(board: tuple[int, ...]) -> NDArray[np.str_]:
    """[1326]  what each hand makes with the board: the category of its best five cards, or a flush draw."""
    from kibitz.cards.ranking import category, evaluate

    cards = hand_cards()
    open_hands = ~np.isin(cards, board).any(axis=1)
    kinds = np.full(len(cards), "", dtype="<U16")
    whole = np.concatenate([cards[open_hands], np.tile(board, (int(open_hands.sum()), 1))], axis=1)
    ranks = np.asarray(evaluate(whole))
    kinds[open_hands] = [category(int(rank)) for rank in ranks]
    if len(board) < 5:
        suits = np.asarray([card % 4 for card in board])
        for suit in range(4):
            own = (cards % 4 == suit).sum(axis=1)
            draw = open_hands & (own > 0) & (own + int((suits == suit).sum()) == 4)
            kinds[draw & np.isin(kinds, KINDS[:2])] = FLUSH_DRAW
    return kinds


def three_data(node: MultiwayNode) -> dict[str, Any]:
    """The same of three players. What hands win is known of the player to act."""
    question, here = node.question, node.nodes
    seats = [seat for seat in range(question.players) if not here.folded[node.node, seat]]
    kind = "decision" if node.player else "end" if node.is_over else "chance"
    return {**_line_data(node), "kind": kind, "board": [name(card) for card in node.board],
            "paid": (here.paid[node.node] * question.unit).tolist(), "cards": [name(card) for card in node.cards],
            "players": [_three_hands(node, seat) for seat in seats],
            "knowledge": node.knowledge if node.street.line else None}  # fmt: skip


def before_data(node: PreflopNode) -> dict[str, Any]:
    """The same before the flop: hands are the 169 classes."""
    seats = [seat for seat in range(node.question.players) if not node.nodes.folded[node.node, seat]]
    data = {**_line_data(node), "kind": "decision" if node.player else "end", "board": [], "cards": [],
            "paid": node.paid.tolist(), "players": [_class_columns(node, seat) for seat in seats]}  # fmt: skip
    if node.is_flop and len(node.seats_inside) in (2, 3):  # a spot that the form can ask about
        data["flop"] = {"pot": node.pot, "stacks": node.behind, "chip": node.question.unit,
                        "ranges": [node.range(seat) for seat in node.seats_inside]}  # fmt: skip
    return data


def _line_data(node: MultiwayNode | PreflopNode) -> dict[str, Any]:
    actions = []
    if node.player is not None:
        columns = zip(node.actions, node.frequencies, node.means, strict=True)
        actions = [{"name": action, "share": float(share), "value": _plain(value)} for action, share, value in columns]
    return {"line": node.line, "steps": _line_steps(node), "seat": node.turn if node.player else None,
            "player": node.player, "pot": node.pot, "reach": node.reach, "values": None, "equities": None,
            "gains": None, "actions": actions}  # fmt: skip


def _line_steps(node: MultiwayNode | PreflopNode) -> list[dict[str, Any]]:
    """The line, step by step, with who acted."""
    steps: list[dict[str, Any]] = []
    at = node.solution.at()
    for word in node.line.split(", ") if node.line else ():
        seat = at.turn if at.player else -1
        line = f"{steps[-1]['line']}, {word}" if steps else word
        steps.append({"word": word, "seat": seat, "line": line})
        at = node.solution.at(line)
    return steps


def _three_hands(node: MultiwayNode, seat: int) -> dict[str, Any]:
    weights = node.weights(seat)
    here = np.flatnonzero(weights > LEAST * max(float(weights.max()), 1e-300))[::-1]
    texts, cell = hand_names(), grid_of_hands()
    columns = {"hands": [texts[hand] for hand in here], "classes": [cell[1][cell[0][hand]] for hand in here],
               "kinds": kinds_of(node.board)[here].tolist()}  # fmt: skip
    return {**columns, **_what_they_do(node, seat, weights, here)}


def _class_columns(node: PreflopNode, seat: int) -> dict[str, Any]:
    weights = node.solution.reaches[node.node, seat] * class_sizes()
    here = np.flatnonzero(weights > LEAST * max(float(weights.max()), 1e-300))
    texts = [class_names()[k] for k in here]
    columns = {"hands": texts, "classes": texts, "kinds": [""] * len(here), "counts": class_sizes()[here].tolist()}
    return {**columns, **_what_they_do(node, seat, weights, here)}


def _what_they_do(
    node: MultiwayNode | PreflopNode, seat: int, weights: Floats, here: NDArray[np.int64]
) -> dict[str, Any]:
    """Columns of hands: how likely they are, what they win, and of the player to act, what they do."""
    nothing = [None] * len(here)
    data = {"player": node.question.names[seat], "seat": seat, "equities": nothing, "values": nothing,
            "shares": _rounded(weights[here] / max(float(weights[here].sum()), 1e-300), 7)}  # fmt: skip
    if node.turn == seat:
        strategy, values = node.strategy[:, here], node.values[:, here]
        data["values"] = _rounded((strategy * np.where(strategy > 0, values, 0.0)).sum(axis=0))
        data["strategy"] = [_rounded(row) for row in strategy]
        data["action_values"] = [_rounded(row) for row in values]
    return data


def cards_to_come(node: MultiwayNode) -> list[dict[str, Any]]:
    """The cards that may come, for three players: what each brings is measured when it is chosen."""
    return [{"card": name(card), "values": None, "equities": None, "player": None, "actions": [], "shares": []}
            for card in node.cards]  # fmt: skip


def runouts(node: SpotNode) -> list[dict[str, Any]]:
    """What each card brings, where one comes: the mean values, equities and first actions after it."""
    cells = []
    for card in node.cards:
        after = node.after(name(card))
        if after.weights[0].sum() <= 0:
            continue
        cells.append({"card": name(card), "values": _rounded(after.first_values), "equities":
                      _rounded(after.mean_equities), "player": after.player,
                      "actions": list(after.actions), "shares": _rounded(after.frequencies)})  # fmt: skip
    return cells


def _plain(number: float) -> float | None:
    return float(number) if np.isfinite(number) else None


def _rounded(numbers: Floats | Sequence[float], digits: int = 5) -> list[float | None]:
    return [round(float(each), digits) if np.isfinite(each) else None for each in numbers]
