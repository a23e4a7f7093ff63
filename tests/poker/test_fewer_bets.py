"""Games of fewer bets: the definition, the sizes, and the spec that saved strategies carry."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from pathlib import Path

import pytest
from no_limit import fewer, no_limit, small_file

import kibitz
from kibitz.core.errors import GameError, KibitzError, SpecError
from kibitz.games import game as make_game
from kibitz.games.protocol import CHANCE
from kibitz.games.tree import tree_of
from kibitz.games.trusted import recalled
from kibitz.poker.rules import acpc, betting
from kibitz.poker.rules.rules import Poker

HOLDEM = "poker(file=holdem.nolimit.2p, bets=[0.5, 1, 2, allin])"


def test_a_definition_keeps_its_bets_in_its_text() -> None:
    rules = make_game(HOLDEM)
    definition = rules.definition
    assert definition.bets == (0.5, 1.0, 2.0, math.inf)
    text = acpc.write(definition)
    assert "betSizes = 0.5 1 2 allin\n" in text
    assert acpc.parse(text, "holdem.nolimit.2p.game") == definition
    assert "betSizes" not in acpc.write(acpc.read("holdem.nolimit.2p"))
    odd = replace(definition, bets=(0.01, 0.333333, 1000.0))
    assert acpc.parse(acpc.write(odd), definition.name) == odd


@pytest.mark.parametrize(
    ("bets", "why"),
    [
        ("[1, 0.5]", "go up, each once"), ("[1, 1]", "go up"), ("[allin, 1]", "allin last"), ("[0]", "0.01 to 1,000"),
        ("[2000]", "0.01 to 1,000"), ("[half]", "'half' is no size"), ("[-1]", "no size"), ("[true]", "no size"),
        ("[[1]]", "no size"), ("[0.1234567]", "no size"), ("pot", "should be a list"),
        (str([round(0.1 * k, 1) for k in range(1, 30)]), "at most 20"),
    ],
)  # fmt: skip
def test_sizes_that_are_none_are_refused(bets: str, why: str) -> None:
    with pytest.raises(KibitzError, match=why):
        make_game(f"poker(file=holdem.nolimit.2p, bets={bets})")


def test_bets_are_for_games_without_limit() -> None:
    with pytest.raises(GameError, match="with one a raise has the round's size"):
        make_game("poker(file=leduc, bets=[1])")
    with pytest.raises(SpecError, match="raises=256"):
        make_game("poker(file=leduc, raises=256)")
    with pytest.raises(GameError, match="line 3: betSizes names no size"):
        acpc.parse("GAMEDEF\nnolimit\nbetSizes =\nEND GAMEDEF")
    with pytest.raises(GameError, match="line 2: betSizes: 'x' is no size"):
        acpc.parse("GAMEDEF\nbetSizes = x\nEND GAMEDEF")
    with pytest.raises(GameError, match="or an action abstraction, as poker"):
        _ = make_game("holdem.nolimit.2p").betting


def test_the_spec_says_all_and_in_one_way(tmp_path: Path) -> None:
    rules = make_game("poker(bets=[0.50, 1.0, allin], raises=3, stack=2000, file=holdem.nolimit.2p)")
    assert rules.spec == "poker(file=holdem.nolimit.2p, stack=2000, bets=[0.5, 1, allin], raises=3)"
    assert make_game(rules.spec) == rules and recalled(rules.spec, "x", "--game") == rules.spec
    assert rules.definition.stacks == (2000, 2000) and rules.definition.max_raises == (3,) * 4
    whole = rules.whole
    assert whole.spec == "poker(file=holdem.nolimit.2p, stack=2000)"
    assert whole == make_game(whole.spec) and whole.definition.max_raises == (255,) * 4
    assert whole.whole is whole
    again = whole.fewer(rules.spec)
    assert again == rules and again.spec == rules.spec and again.whole == whole
    other = make_game("holdem.nolimit.2p")
    for said in (rules.spec, whole.spec, other.spec, "leduc", "x(", "poker(bets=[1])"):
        assert other.fewer(said) is None
    assert other.fewer("poker(file=holdem.nolimit.2p, bets=[1])") is not None
    with pytest.raises(KibitzError):
        other.fewer("poker(file=holdem.nolimit.2p, bets=[x])")
    path = small_file(tmp_path)
    made = make_game(f'poker(file="{path}", bets=[1, allin])')
    assert made.whole == make_game(path) and made.whole.spec == make_game(path).spec


def test_sizes_are_whole_chips_of_the_pot_after_a_call() -> None:
    few = make_game(HOLDEM).definition
    bets = betting.start(few)  # seat 1 to act: 50 and 100 are in, the pot after a call is 200
    assert betting.actions(few, bets) == ("fold", "call", "r200", "r300", "r500", "r20000")
    bets = betting.act(few, bets, "r300")  # to call 200 more: the pot would be 600
    assert betting.actions(few, bets) == ("fold", "call", "r600", "r900", "r1500", "r20000")
    bets = betting.deal(few, betting.act(few, bets, "call"))
    assert betting.actions(few, bets) == ("call", "r600", "r900", "r1500", "r20000")
    odd = no_limit((9, 9), (1, 2), (0,))
    few = replace(odd, bets=(0.3, 0.6, 1.0, 2.0))  # no all in: a bet that the stack does not last for is
    bets = betting.start(few)
    assert betting.actions(few, bets) == ("fold", "call", "r4", "r6", "r9")  # 0.3 and 0.6 of 4 are less than a raise


def walked(definition: acpc.Definition, dice: random.Random) -> list[betting.Bets]:
    """The decisions of a random hand."""
    bets, found = betting.start(definition), []
    while bets.turn >= 0 or bets.turn == CHANCE:
        if bets.turn == CHANCE:
            bets = betting.deal(definition, bets)
            continue
        found.append(bets)
        offered = [each for each in betting.actions(definition, bets) if each != "fold"]
        bets = betting.act(definition, bets, dice.choice(offered))
    return found


def test_fewer_bets_are_bets_of_the_whole_game() -> None:
    dice = random.Random(5)
    for _ in range(300):
        players = dice.choice((2, 3))
        stacks = tuple(dice.randint(4, 60) for _ in range(players))
        blinds = tuple(dice.choice((0, 1, 2)) for _ in range(players))
        whole = Poker(no_limit(stacks, blinds, raises=dice.choice((1, 3, 255))))
        sizes = tuple(sorted(dice.sample((0.1, 0.25, 0.5, 0.75, 1.0, 2.0, 5.0, math.inf), dice.randint(1, 4))))
        few = fewer(whole, sizes, dice.choice((0, 1, 2)))
        for bets in walked(few.definition, dice):
            offered = betting.actions(few.definition, bets)
            every = betting.actions(whole.definition, bets)
            assert set(offered) <= set(every) and len(set(offered)) == len(offered)
            under = bets.raises < few.definition.max_raises[bets.round]
            assert any(each[0] == "r" for each in offered) == (under and any(each[0] == "r" for each in every))
            totals = [int(each[1:]) for each in offered if each[0] == "r"]
            assert totals == sorted(totals)
            for size in sizes if totals else ():
                low, high = betting.raises(whole.definition, bets)
                top = max(bets.paid)
                pot = sum(bets.paid) + top - bets.paid[bets.turn] or 1
                wanted = high if math.isinf(size) else min(max(top + math.floor(size * pot + 0.5), low), high)
                assert wanted in totals


def test_the_tree_of_fewer_bets_is_walked_as_its_rules_are(tmp_path: Path) -> None:
    """Solved as a tree of histories and as betting times cards it is one game."""
    spec = f'poker(file="{small_file(tmp_path, 5)}", bets=[1, allin])'
    compact = kibitz.solve(spec, "cfr+", iterations=300)
    tree = tree_of(make_game(spec))
    laid_out = kibitz.solve(tree, "cfr+", iterations=300)
    assert kibitz.value(spec, compact)[0] == pytest.approx(kibitz.value(tree, laid_out)[0], abs=0.01)
    compact.save(tmp_path / "few.profile")
    loaded = kibitz.Profile.load(tmp_path / "few.profile")
    assert loaded.meta["game"] == make_game(spec).spec
    assert (loaded.probabilities == compact.probabilities).all()
