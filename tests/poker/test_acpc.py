"""Files of poker games, what is said of wrong ones, and the betting as a tree."""

from __future__ import annotations

import operator
import tracemalloc
from collections import Counter
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from examples import examples
from kibitz.core.errors import GameError
from kibitz.games import CHANCE, TERMINAL
from kibitz.poker.rules import betting
from kibitz.poker.rules.acpc import Definition, parse, read, shipped, write

GOOD = """GAMEDEF
limit
numPlayers = 2
numRounds = 2
blind = 1 1
raiseSize = 2 4
firstPlayer = 1 1
maxRaises = 2 2
numSuits = 2
numRanks = 3
numHoleCards = 1
numBoardCards = 0 1
END GAMEDEF
"""


@st.composite
def definitions(draw, chips=40, cap=3):
    """Small games of every kind, with blinds and stacks that differ."""
    players, rounds = draw(st.integers(2, 4)), draw(st.integers(1, 3))
    limit = draw(st.booleans())
    stacks = draw(st.one_of(st.none(), st.tuples(*[st.integers(1, chips)] * players)) if limit else
                  st.tuples(*[st.integers(1, chips // 4)] * players))  # fmt: skip
    blinds = [draw(st.integers(0, 3)) for _ in range(players)]
    raise_size = tuple(draw(st.integers(1, 9)) for _ in range(rounds)) if limit else ()
    max_raises = tuple(draw(st.integers(0, cap)) for _ in range(rounds))
    if limit and stacks is not None:  # the same for two, or enough for every raise
        most = max(blinds) + sum(map(operator.mul, raise_size, max_raises))
        same = players == 2 and draw(st.booleans())
        stacks = (stacks[0],) * 2 if same else tuple(max(1, most + stack - 1) for stack in stacks)
    board = draw(st.sampled_from([b for b in [(0,), (2,), (0, 1), (1, 1), (0, 0), (0, 1, 1), (0, 0, 2)]
                                  if len(b) == rounds]))  # fmt: skip
    return Definition(
        limit, players, rounds, stacks,
        tuple(blinds) if stacks is None else tuple(map(min, blinds, stacks)),
        raise_size,
        tuple(draw(st.integers(0, players - 1)) for _ in range(rounds)),
        max_raises,
        draw(st.integers(2, 4)), draw(st.integers(5, 13)), 1, board, "random",
    )  # fmt: skip


# Files


def test_what_a_file_says():
    assert read("holdem.limit.2p") == Definition(
        limit=True, players=2, rounds=4, stacks=None, blinds=(10, 5), raise_size=(10, 10, 20, 20),
        first_player=(1, 0, 0, 0), max_raises=(3, 4, 4, 4), suits=4, ranks=13, hole=2, board=(0, 3, 1, 1),
        name="holdem.limit.2p",
    )  # fmt: skip
    three = read("holdem.limit.3p")
    assert (three.blinds, three.first_player, three.max_raises) == ((5, 10, 0), (2, 0, 0, 0), (3, 4, 4, 4))
    big = read("holdem.nolimit.2p")
    assert (big.limit, big.stacks, big.blinds, big.raise_size) == (False, (20000, 20000), (100, 50), ())
    assert big.max_raises == (255,) * 4


def test_all_names_are_those_of_files():
    assert shipped() == [
        "holdem.limit.2p", "holdem.limit.3p", "holdem.nolimit.2p", "kuhn", "leduc", "rhode_island",
    ]  # fmt: skip
    for name in shipped():
        assert read(name).name == name
        assert parse(write(read(name)), name) == read(name)


@settings(max_examples=examples(200), deadline=None, database=None)
@given(definitions())
def test_written_and_read_again(definition):
    assert parse(write(definition), "somewhere/random.game") == definition


def test_letters_spaces_and_comments_do_not_count():
    plain = parse(GOOD, "x.game")
    loud = "# a game\n\n" + GOOD.replace("numPlayers = 2", "NUMPLAYERS=2   # two").replace("blind = 1 1", "Blind 1 1")
    assert parse(loud.replace("\n", "\r\n").replace("END GAMEDEF", "end gamedef"), "x.game") == plain
    assert parse(GOOD.replace("firstPlayer = 1 1\n", ""), "x.game") == plain
    assert parse(GOOD.replace("maxRaises = 2 2\n", ""), "x").max_raises == (255, 255)


def test_deck():
    from kibitz import cards

    assert [cards.name(card) for card in read("leduc").deck] == ["Qc", "Qd", "Kc", "Kd", "Ac", "Ad"]
    assert [cards.name(card) for card in read("kuhn").deck] == ["Qc", "Kc", "Ac"]
    assert read("rhode_island").deck == tuple(range(52))
    assert (read("leduc").shown, read("rhode_island").shown, read("holdem.limit.3p").shown) == (2, 3, 7)


@pytest.mark.parametrize(
    ("old", "new", "line", "says"),
    [
        ("maxRaises", "maxRaise", 8, "unknown key 'maxRaise'; did you mean maxRaises?"),
        ("numSuits = 2", "numSuits = 2\nnumsuits = 2", 10, "numSuits is given twice, first in line 9"),
        ("limit\n", "limit\nnolimit\n", 3, "limit or nolimit is given twice"),
        ("limit\n", "limit 2\n", 2, "stands alone"),
        ("limit\n", "", 12, "neither limit nor nolimit"),
        ("numSuits = 2\n", "", 12, "numSuits is missing"),
        ("raiseSize = 2 4\n", "", 12, "raiseSize is missing"),
        ("limit", "nolimit", 13, "stack is missing: without limit"),
        ("limit\n", "nolimit\nstack = 9 9\n", 7, "raiseSize is for limit games"),
        ("numPlayers = 2", "numPlayers =", 3, "numPlayers is one number, not 0"),
        ("numPlayers = 2", "numPlayers = 2 2", 3, "one number, not 2"),
        ("numPlayers = 2", "numPlayers = two", 3, "'two' is not a number"),
        ("numPlayers = 2", "numPlayers = -2", 3, "'-2' is not a number"),
        ("blind = 1 1", "blind = 1 9999999999999999999999", 5, "not a number from 0 to 2,147,483,647"),
        ("numPlayers = 2", "numPlayers = 1", 3, "numPlayers should be 2 to 10, not 1"),
        ("numPlayers = 2", "numPlayers = 11", 3, "2 to 10, not 11"),
        ("numRounds = 2", "numRounds = 5", 4, "numRounds should be 1 to 4"),
        ("numRounds = 2", "numRounds = 0", 4, "1 to 4, not 0"),
        ("blind = 1 1", "blind = 1 1 1", 5, "blind needs a number for each player, 2 in all; there are 3"),
        ("raiseSize = 2 4", "raiseSize = 2", 6, "raiseSize needs a number for each round, 2 in all; there is 1"),
        ("raiseSize = 2 4", "raiseSize = 2 0", 6, "raiseSize should be 1 to"),
        ("firstPlayer = 1 1", "firstPlayer = 1 0", 7, "from 1, so 0 is not a player"),
        ("firstPlayer = 1 1", "firstPlayer = 1 3", 7, "one of 1 to 2, not 3"),
        ("maxRaises = 2 2", "maxRaises = 2 256", 8, "maxRaises should be 0 to 255, not 256"),
        ("blind = 1 1", "blind = 1 1\nstack = 3 0", 6, "stack should be 1 to"),
        ("blind = 1 1", "stack = 3 1\nblind = 1 2", 6, "the blind of player 2, 2, is more than the stack of 1"),
        ("numSuits = 2", "numSuits = 5", 9, "numSuits should be 1 to 4"),
        ("numRanks = 3", "numRanks = 14", 10, "numRanks should be 1 to 13"),
        ("numHoleCards = 1", "numHoleCards = 0", 11, "numHoleCards should be 1 to 7, not 0"),
        ("numHoleCards = 1", "numHoleCards = 3", 12, "7 cards are dealt, but numSuits and numRanks make a deck of 6"),
        ("numBoardCards = 0 1", "numBoardCards = 0 3", 12, "has 4 cards, of which there is no ranking"),
        ("END GAMEDEF\n", "", 12, "ends without END GAMEDEF"),
        ("GAMEDEF\nlimit", "limit", 1, "begins with GAMEDEF"),
        ("limit\n", "limit\nGAMEDEF\n", 3, "GAMEDEF is given twice"),
        ("END GAMEDEF", "END GAMEDEF\nlimit", 14, "after END GAMEDEF"),
    ],
)
def test_mistakes_are_told_with_their_line(old, new, line, says):
    text = GOOD.replace(old, new, 1)
    assert text != GOOD
    with pytest.raises(GameError) as caught:
        parse(text, "my/own.game")
    assert str(caught.value).startswith(f"my/own.game, line {line}: ")
    assert says in str(caught.value)


def test_a_hand_of_eight_cards_has_no_ranking():
    text = GOOD.replace("numSuits = 2", "numSuits = 4").replace("= 0 1", "= 0 7")
    with pytest.raises(GameError, match="has 8 cards, of which there is no ranking"):
        parse(text)


def test_mistakes_without_a_file():
    with pytest.raises(GameError, match="the poker game leduc: numRanks should be 1 to 13, not 0"):
        replace(read("leduc"), ranks=0)
    with pytest.raises(GameError, match=r"a \.game text, line 1: the text ends without GAMEDEF"):
        parse("")


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(GameError, match="there is no poker game 'leduk': did you mean 'leduc'"):
        read("leduk")
    with pytest.raises(GameError, match=r"none\.game cannot be read: No such file"):
        read(tmp_path / "none.game")
    (tmp_path / "bytes.game").write_bytes(b"GAMEDEF\n\xff")
    with pytest.raises(GameError, match="is not text: byte 8"):
        read(tmp_path / "bytes.game")
    (tmp_path / "long.game").write_text("#" * 200_000)
    with pytest.raises(GameError, match="longer than 100,000 bytes"):
        read(tmp_path / "long.game")
    (tmp_path / "my.own.game").write_text(GOOD)
    assert read(tmp_path / "my.own.game") == replace(read("leduc"), name="my.own")


@settings(max_examples=examples(300), deadline=None, database=None)
@given(st.text(alphabet="GAMEDFlimtnoPyersRud=0123 \n#", max_size=80), st.integers(0, len(GOOD)))
def test_any_text_is_read_or_refused_in_a_sentence(junk, at):
    for text in (junk, GOOD[:at] + junk + GOOD[at:]):
        try:
            assert isinstance(parse(text, "x.game"), Definition)
        except GameError as error:
            assert str(error).startswith("x.game, line ")


# The tree of betting

HOLDEM_FOR_THREE = [90, 4412, 205962, 9501342]  # decisions by round


def small_tree(definition, limit):
    try:
        return betting.betting_tree(definition, limit)
    except GameError:
        return reject()


def walked(definition):
    """The nodes in preorder by the rules alone: (parent, action, text, bets, actions)."""
    nodes = []

    def walk(bets, parent, action, text):
        at = len(nodes)
        offer = betting.actions(definition, bets) if bets.turn >= 0 else ()
        nodes.append((parent, action, text, bets, offer))
        if bets.turn == CHANCE:
            walk(betting.deal(definition, bets), at, 0, text + ("/" if bets.round else ""))
        for number, each in enumerate(offer):
            letter = each if each[1:].isdigit() else each[0]
            walk(betting.act(definition, bets, each), at, number, text + letter)

    walk(betting.start(definition), -1, 0, "")
    return nodes


@settings(max_examples=examples(300), deadline=None, database=None)
@given(definitions(chips=24, cap=2))
def test_tree_is_what_the_rules_walk(definition):
    tree = small_tree(definition, 5000)
    nodes = walked(definition)
    assert len(tree) == len(nodes)
    assert tree.parent.tolist() == [node[0] for node in nodes]
    assert tree.action.tolist() == [node[1] for node in nodes]
    assert tree.text == [node[2] for node in nodes]
    assert tree.turn.tolist() == [node[3].turn for node in nodes]
    assert tree.round.tolist() == [node[3].round for node in nodes]
    assert tree.paid.tolist() == [list(node[3].paid) for node in nodes]
    assert tree.folded.tolist() == [list(node[3].folded) for node in nodes]
    offers = [tree.actions[number] if number >= 0 else () for number in tree.actions_of]
    assert offers == [node[4] for node in nodes]
    assert len(set(tree.actions)) == len(tree.actions)


@settings(max_examples=examples(150), deadline=None, database=None)
@given(definitions(chips=24, cap=2))
def test_what_holds_in_every_tree(definition):
    tree = small_tree(definition, 5000)
    stacks = np.array(definition.stacks or [2**40] * definition.players)
    above = tree.parent[1:]
    assert (tree.paid >= 0).all() and (tree.paid <= stacks).all()
    assert (tree.paid[1:] >= tree.paid[above]).all() and (tree.folded[1:] >= tree.folded[above]).all()
    assert (above < np.arange(1, len(tree))).all()
    children = np.bincount(above, minlength=len(tree))
    for node in range(len(tree)):
        turn = tree.turn[node]
        if turn == TERMINAL:
            assert children[node] == 0
            live = ~tree.folded[node]
            # the end: one seat is left, or the last round is over and all have paid alike or all they had
            top = tree.paid[node].max()
            assert live.sum() == 1 or (
                tree.round[node] == definition.rounds - 1
                and ((tree.paid[node] == top) | (tree.paid[node] == stacks))[live].all()
            )
        elif turn == CHANCE:
            assert children[node] == 1
        else:
            assert children[node] == len(tree.actions[tree.actions_of[node]])
            assert not tree.folded[node, turn] and tree.paid[node, turn] < stacks[turn]
            assert ("fold" in tree.actions[tree.actions_of[node]]) == (tree.paid[node, turn] < tree.paid[node].max())
    for text in tree.text:
        for number, part in enumerate(text.split("/")):
            assert part.count("r") <= definition.max_raises[number]


def test_sizes_for_two():
    """Decisions by round, and nodes."""
    for name, decisions, total in [
        ("kuhn", [4], 9),
        ("leduc", [6, 30], 90),
        ("rhode_island", [8, 56, 392], 1197),
        ("holdem.limit.2p", [8, 70, 630, 5670], 17221),
    ]:
        tree = betting.betting_tree(read(name))
        assert len(tree) == total
        assert np.bincount(tree.round[tree.turn >= 0]).tolist() == decisions


def test_a_round_of_rhode_island():
    """4 decisions and 10 sequences of a seat in each round, and 7 ways to the next: the published counts."""
    tree = betting.betting_tree(read("rhode_island"))
    for number, ways in [(0, 1), (1, 7), (2, 49)]:
        here = tree.round == number
        for seat in (0, 1):
            mine = here & (tree.turn == seat)
            assert mine.sum() == 4 * ways
            assert sum(len(tree.actions[offer]) for offer in tree.actions_of[mine]) == 10 * ways
        if number:
            assert (here & (tree.turn == CHANCE)).sum() == ways
    assert tree.paid.max() == 155  # 5 + 3 * (10 + 20 + 20)


def test_texts_and_chips():
    tree = betting.betting_tree(read("holdem.limit.2p"))
    node = tree.text.index("rrc/crc/")
    assert (tree.turn[node], tree.round[node], tree.paid[node].tolist()) == (0, 2, [40, 40])
    assert tree.turn[0] == 1 and tree.actions[tree.actions_of[0]] == ("fold", "call", "raise")
    assert tree.turn[tree.text.index("c")] == 0  # the big blind may still raise
    assert tree.actions[tree.actions_of[tree.text.index("crrr")]] == ("fold", "call")
    assert tree.paid[tree.text.index("rrrc/rrrrc/rrrrc/rrrrc")].tolist() == [240, 240]


def test_all_in_turns_the_board():
    game = Definition(False, 2, 4, (6, 9), (2, 1), (), (1, 0, 0, 0), (255,) * 4, 4, 13, 2, (0, 3, 1, 1))
    tree = betting.betting_tree(game)
    node = tree.text.index("r6c")
    assert tree.turn[node : node + 4].tolist() == [CHANCE, CHANCE, CHANCE, TERMINAL]
    assert tree.round[node : node + 4].tolist() == [1, 2, 3, 3]
    assert tree.text[node : node + 4] == ["r6c", "r6c/", "r6c//", "r6c///"]
    assert tree.actions[tree.actions_of[0]] == ("fold", "call", "r4", "r5", "r6", "r7", "r8", "r9")
    # The least raise: the blind at first, then as much as the last; all in may be less.
    assert tree.actions[tree.actions_of[tree.text.index("c")]] == ("call", "r4", "r5", "r6")
    assert tree.actions[tree.actions_of[tree.text.index("r5")]] == ("fold", "call", "r6")
    assert tree.actions[tree.actions_of[tree.text.index("cr4")]] == ("fold", "call", "r6", "r7", "r8", "r9")
    assert tree.actions[tree.actions_of[tree.text.index("cc/")]] == ("call", "r4", "r5", "r6")
    assert tree.actions[tree.actions_of[tree.text.index("r9")]] == ("fold", "call")
    assert tree.paid[tree.text.index("r9c")].tolist() == [6, 9]


def test_blinds_that_put_everybody_all_in():
    game = Definition(False, 2, 2, (2, 1), (2, 1), (), (0, 0), (255,) * 2, 4, 13, 1, (0, 1))
    assert betting.betting_tree(game).turn.tolist() == [CHANCE, TERMINAL]
    # A single seat with chips is asked, as the reference dealer does, though it can only check.
    tree = betting.betting_tree(replace(game, stacks=(9, 1)))
    assert tree.text == ["", "c", "c/"] and tree.actions == [("call",)]


def test_a_board_before_the_first_round():
    tree = betting.betting_tree(replace(read("kuhn"), ranks=13, board=(1,)))
    assert tree.turn[:2].tolist() == [CHANCE, 0] and tree.round[:2].tolist() == [0, 0]
    assert tree.text[:3] == ["", "", "c"] and len(tree) == 10
    game = Definition(False, 2, 2, (1, 1), (1, 1), (), (0, 0), (9, 9), 4, 13, 1, (1, 1))
    tree = betting.betting_tree(game)  # all in by the blinds
    assert tree.turn.tolist() == [CHANCE, CHANCE, TERMINAL] and tree.text == ["", "", "/"]


def counted(definition):
    """Decisions by round in a limit game without stacks, from who is in, who must answer and who owes: no chips."""
    players = definition.players

    @cache
    def play(queue, live, owing, left):
        """From a place in a round on: (decisions, how often each set of seats goes on). queue: the seats to act."""
        if len(live) == 1:
            return 0, {}
        if not queue:
            return 0, {live: 1}
        seat, rest = queue[0], queue[1:]
        options = [(rest, live, owing - {seat}, left)]
        if seat in owing:
            options.append((rest, live - {seat}, owing - {seat}, left))
        if left:
            others = [(seat + step) % players for step in range(1, players)]
            options.append((tuple(s for s in others if s in live), live, live - {seat}, left - 1))
        total, ways = 1, Counter()
        for option in options:
            more, after = play(*option)
            total += more
            ways.update(after)
        return total, ways

    everybody = frozenset(range(players))
    owing = frozenset(seat for seat in everybody if definition.blinds[seat] < max(definition.blinds))
    reached, decisions = Counter({everybody: 1}), []
    for first, most in zip(definition.first_player, definition.max_raises, strict=True):
        following, here = Counter(), 0
        for live, count in reached.items():
            order = [seat % players for seat in range(first, first + players)]
            total, after = play(tuple(seat for seat in order if seat in live), live, owing, most)
            here += count * total
            for each, ways in after.items():
                following[each] += count * ways
        decisions.append(here)
        reached, owing = following, frozenset()
    return decisions


def test_sizes_counted_in_another_way():
    leduc = replace(read("leduc"), players=3, blinds=(1, 1, 1), ranks=13)
    assert counted(leduc) == [33, 456]  # [Gibson & Szafron 2011]
    assert counted(read("holdem.limit.2p")) == [8, 70, 630, 5670]
    assert counted(read("holdem.limit.3p")) == HOLDEM_FOR_THREE
    for game in [
        leduc,
        replace(leduc, players=4, blinds=(0, 1, 2, 0), first_player=(3, 1)),
        replace(leduc, players=5, blinds=(1, 1, 2, 0, 2), first_player=(1, 4), max_raises=(1, 1)),
        replace(leduc, players=3, blinds=(5, 0, 0), first_player=(0, 2), max_raises=(0, 3)),
    ]:
        tree = betting.betting_tree(game)
        assert np.bincount(tree.round[tree.turn >= 0]).tolist() == counted(game)


@pytest.mark.slow
def test_the_tree_of_holdem_for_three():
    tree = betting.betting_tree(read("holdem.limit.3p"), limit=25_000_000)
    assert np.bincount(tree.round[tree.turn >= 0]).tolist() == HOLDEM_FOR_THREE
    assert len(tree) == 24_142_345


def test_trees_too_large_are_refused():
    with pytest.raises(GameError, match=r"holdem.limit.3p has 24,142,345 nodes, and the limit is 2,000,000"):
        betting.betting_tree(read("holdem.limit.3p"))
    with pytest.raises(GameError, match=r"holdem.nolimit.2p has 97,131,358 nodes in its first 2 steps alone, and the"):
        betting.betting_tree(read("holdem.nolimit.2p"))
    rich = replace(read("holdem.nolimit.2p"), stacks=(2**31 - 1,) * 2)
    with pytest.raises(GameError, match="nodes in its first 1 steps alone"):
        betting.betting_tree(rich)
    with pytest.raises(GameError, match="2,147,483,448 sizes, more than the 1,000,000 that can be listed"):
        betting.actions(rich, betting.start(rich))
    with pytest.raises(GameError, match="has 90 nodes, and the limit is 89"):
        betting.betting_tree(read("leduc"), limit=89)
    assert len(betting.betting_tree(read("leduc"), limit=90)) == 90
    # 3.6 million nodes, of which a million would be made before they are counted.
    wide = Definition(False, 2, 1, (900_000,) * 2, (1, 1), (), (0,), (1,), 2, 2, 1, (0,))
    with pytest.raises(GameError, match=r"has some 2\.7e\+06 nodes, by an estimate from samples, and the limit is"):
        betting.betting_tree(wide)


# Limit games with stacks


@settings(max_examples=examples(200), deadline=None, database=None)
@given(definitions(chips=24, cap=2))
def test_nobody_answers_a_bet_that_is_more_than_the_stack_while_another_can_bet(definition):
    """There the competition's dealer lets a seat raise, to less than the bet, and ours does not: it must not come."""
    if not definition.limit or definition.stacks is None:
        return
    small_tree(definition, 20_000)
    for _, _, text, bets, offer in walked(definition):
        if bets.turn < 0:
            continue
        able = [not gone and chips < stack
                for gone, chips, stack in zip(bets.folded, bets.paid, definition.stacks, strict=True)]  # fmt: skip
        # What that dealer asks before a limit raise, and all that it asks.
        may = bets.raises < definition.max_raises[bets.round] and sum(able) > 1
        assert ("raise" in offer) == may, text


@pytest.mark.parametrize(
    ("stack", "caps", "good"),
    [("4 4", "2 2", True), ("13 13", "2 2", True), ("4 5", "2 2", False), ("12 20", "2 2", False),
     ("13 20", "2 2", True), ("4 5", "0 0", True), ("20 20", "255 255", True), ("20 21", "255 255", False)],
)  # fmt: skip
def test_stacks_of_limit_games(stack, caps, good):
    text = GOOD.replace("blind = 1 1", f"blind = 1 1\nstack = {stack}")
    text = text.replace("maxRaises = 2 2", f"maxRaises = {caps}")
    if good:
        assert parse(text).stacks == tuple(map(int, stack.split()))
        return
    with pytest.raises(GameError, match=r"line 6: a stack of \d+ is too small for every raise, .* put in [\d,]+: the"):
        parse(text)


@pytest.mark.parametrize("key", ["numRounds", "numPlayers", "numSuits", "numRanks", "numHoleCards"])
@pytest.mark.parametrize("number", [0, 100, 2147483647])
def test_numbers_that_would_be_sizes_are_checked_before_they_are_used(key, number):
    """A text that asks for 2147483647 rounds took 17 GB."""
    text = "\n".join(f"{key} = {number}" if line.startswith(key) else line for line in GOOD.splitlines())
    text = text.replace("firstPlayer = 1 1\n", "").replace("maxRaises = 2 2\n", "")
    tracemalloc.start()
    with pytest.raises(GameError, match=rf"{key} should be \d to \d+, not {number}"):
        parse(text)
    assert tracemalloc.get_traced_memory()[1] < 1e6
    tracemalloc.stop()
