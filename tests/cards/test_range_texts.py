"""Ranges as other programs write them."""

from __future__ import annotations

import numpy as np
import pytest

from kibitz.cards import parse_range
from kibitz.cards.ranges import hand_cards
from kibitz.core.errors import GameError


def hands(text):
    return parse_range(text).weights


def test_blocks_of_a_weight():
    assert np.array_equal(hands("[50]AA,AKs[/50],KK"), hands("AA:0.5,AKs:0.5,KK"))
    assert np.array_equal(hands("[25.0]22+[/25.0], [75]A5s-A2s[/75]"), hands("22+:0.25, A5s-A2s:0.75"))
    assert np.array_equal(hands("[50]AA:0.5[/50], AsKh"), hands("AA:0.25, AsKh"))


def test_a_list_of_weights_is_in_the_order_of_hands():
    """2d2c 2h2c 2h2d 2s2c 2s2d 2s2h 3c2c ..., as PioSOLVER lists them."""
    from kibitz.cards import name

    order = [f"{name(int(b))}{name(int(a))}" for a, b in hand_cards()]
    assert order[:8] == ["2d2c", "2h2c", "2h2d", "2s2c", "2s2d", "2s2h", "3c2c", "3c2d"]
    weights = np.round(np.random.default_rng(0).random(1326), 4)
    for between in (" ", ", ", "\n"):
        assert np.array_equal(hands(between.join(map(str, weights))), weights)


def test_hands_without_letters_are_no_weights():
    text = " ".join(f"{a}{b}" for a in range(9, 2, -1) for b in range(a, 1, -1))
    assert len(text.split()) > 20 and parse_range(text).size > 100


@pytest.mark.parametrize(
    ("text", "words", "at"),
    [
        ("[50]AA,AKx[/50]", "AKx", 7),
        ("[50]AA,AKs", "has no end", 0),
        ("[150]AA[/150]", "0 to 100", 0),
        ("[50]AA[/40]", "not begun", 6),
        ("AA[/50]", "not begun", 2),
        ("[50]AA,[40]KK[/40][/50]", "begins before", 7),
        ("AA,[5x]KK", "brackets", 3),
        (" ".join(["0.5"] * 1325 + ["1.5"]), "from 0 to 1", 4 * 1325),
        (" ".join(["0.5"] * 1325), "1,325", 4 * 1325 - 1),
        (" ".join(["0.5"] * 1327), "1,327", 4 * 1326),
        (" ".join(["0"] * 1326), "all of its weights are 0", None),
    ],
)
def test_mistakes_are_pointed_at(text, words, at):
    with pytest.raises(GameError, match=words) as error:
        parse_range(text)
    if at is not None:
        assert error.value.at == at and "^" in str(error.value)
