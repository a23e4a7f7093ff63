"""Files of other solvers."""

from __future__ import annotations

import numpy as np
import pytest

from kibitz.cards import parse_range
from kibitz.core.errors import GameError
from kibitz.core.pointing import PointedError
from kibitz.poker.spots.importing import imported, is_import, read_import
from kibitz.poker.spots.reading import spot
from kibitz.poker.spots.sizes import text_of_sizes
from kibitz.poker.spots.spot import betting_of

TEXAS = """set_pot 50
set_effective_stack 200
set_board Qs,Jh,2h
set_range_ip AA,KK:0.5,AKs
set_range_oop QQ,JJ:0.75,A5s-A2s
set_bet_sizes oop,flop,bet,50
set_bet_sizes oop,flop,raise,60,100
set_bet_sizes oop,flop,allin
set_bet_sizes ip,flop,bet,33
set_bet_sizes oop,turn,donk,25
set_bet_sizes oop,turn,bet,50
set_bet_sizes ip,turn,bet,75
set_raise_limit 3
set_allin_threshold 0.67
build_tree
set_accuracy 0.5
start_solve
"""
PIO = r"""#Type#NoLimit
#Range0#22:1,AA:0.5
#Range1#33:0.169,KK:1
#ICM.ICMFormat#Pio ICM structure
#ICM.Enabled#True
#ICM.Payouts#50\n30\n0
#ICM.Stacks#2100\n2200\n2250
#Board#Ah Kd 9c
#Pot#550
#EffectiveStacks#2100
#AllinThreshold#60
#AddAllinOnlyIfLessThanThisTimesThePot#250
#MergeSimilarBets#True
#MergeSimilarBetsThreshold#12
#CapEnabled#True
#CapPerStreet#3\n3\n4
#FlopConfig.RaiseSize#33 2.5x
#FlopConfig.AddAllin#True
#FlopConfigIP.BetSize#25, 75
#FlopConfigIP.RaiseSize#a
#FlopConfigIP.AddAllin#True
#TurnConfig.BetSize#50
#TurnConfig.AddAllin#True
#TurnConfigIP.AddAllin#True
#RiverConfig.DonkBetSize#30
#RiverConfig.AddAllin#True
#RiverConfigIP.AddAllin#True
"""


def test_texas_solver():
    result = imported(TEXAS)
    question = spot(**result.arguments)
    assert result.source == "TexasSolver" and result.until == 0.005
    assert (question.pot, question.stacks) == (50, (200, 200)) and len(question.board) == 3
    assert np.array_equal(question.ranges[1], parse_range("AA,KK:0.5,AKs").weights)
    assert np.array_equal(question.ranges[0], parse_range("QQ,JJ:0.75,A5s-A2s").weights)
    oop, ip = question.sizes[0]
    assert text_of_sizes(oop.bets) == "50%, allin" and text_of_sizes(oop.raises) == "60%, 100%, allin"
    assert text_of_sizes(ip.bets) == "33%" and ip.raises == ()
    assert text_of_sizes(question.sizes[1][0].donks) == "25%" and question.sizes[2][0].donks == ()
    assert question.max_raises == (4, 4, 4)  # three raises after a bet
    (note,) = result.notes
    assert "set_allin_threshold" in note and note.startswith("line 14")
    assert betting_of(question).actions(0) == ("check", "bet 25", "allin 200")


def test_pio_viewer():
    result = imported(PIO)
    question = spot(**result.arguments)
    assert (question.pot, question.stacks) == (550, (2100, 2200))
    assert (question.prizes, question.others) == ((50, 30), (2250,))
    assert (question.merge, question.add_allin, question.max_raises) == (0.12, 2.5, (3, 3, 4))
    assert text_of_sizes(question.sizes[0][0].raises) == "33%, 2.5x" and question.sizes[0][0].bets == ()
    ip = question.sizes[0][1]
    assert text_of_sizes(ip.bets) == "25%, 75%" and text_of_sizes(ip.raises) == "allin"
    assert text_of_sizes(question.sizes[2][0].donks) == "30%" and question.sizes[1][0].donks == ()
    assert [note.partition(":")[0] for note in result.notes] == ["line 11"]


def test_all_in_on_some_streets_only():
    result = imported(PIO.replace("#TurnConfig.AddAllin#True\n", ""))
    assert "add_allin" not in result.arguments
    assert result.arguments["bets"]["turn"] == {"OOP": "50%", "IP": "allin"}
    assert any("some streets" in note for note in result.notes)


def test_it_is_told_from_other_texts():
    assert is_import(TEXAS) and is_import(PIO)
    assert not is_import('board = "Qs Jh 2h"\npot = 100\n') and not is_import('{"pot": 100}')
    with pytest.raises(GameError, match="neither"):
        imported("hello\n")


@pytest.mark.parametrize(
    ("text", "old", "new", "words", "place"),
    [
        (TEXAS, "set_pot 50", "set_pot x50", "line 1: 'x50' is not a number", ("set_pot x50", 8)),
        (TEXAS, "Qs,Jh,2h", "Qs,Jx,2h", "line 3: .*suit", ("set_board Qs,Jx,2h", 14)),
        (TEXAS, "AA,KK:0.5,AKs", "AA,KZ,AKs", "line 4: .*'Z'", ("set_range_ip AA,KZ,AKs", 17)),
        (TEXAS, "oop,flop,bet,50", "oop,flop,bet,5y", "line 6: '5y' is not", ("set_bet_sizes oop,flop,bet,5y", 27)),
        (TEXAS, "oop,flop,bet,50", "oop,flap,bet,50", "line 6: 'flap'", ("set_bet_sizes oop,flap,bet,50", 18)),
        (TEXAS, "oop,turn,donk,25", "ip,turn,donk,25", "only OOP", ("set_bet_sizes ip,turn,donk,25", 22)),
        (TEXAS, "build_tree", "build_three", "build_three", ("build_three", 0)),
        (PIO, "#Pot#550", "#Pot#5a0", "line 9", ("#Pot#5a0", 5)),
        (PIO, "33 2.5x", "33 2.5y", "line 17", ("#FlopConfig.RaiseSize#33 2.5y", 25)),
        (PIO, "25, 75", "25, 2x", "list of bets", ("#FlopConfigIP.BetSize#25, 2x", 26)),
        (PIO, "#MergeSimilarBets#True", "#MergeSimilarBets#Yes", "True or False", ("#MergeSimilarBets#Yes", 18)),
        (PIO, r"3\n3\n4", r"3\n3", "3 numbers", (r"#CapPerStreet#3\n3", 14)),
    ],
)
def test_mistakes_are_pointed_at(text, old, new, words, place):
    assert old in text
    with pytest.raises(PointedError, match=words) as error:
        imported(text.replace(old, new))
    assert (error.value.text, error.value.at) == place


@pytest.mark.parametrize(
    ("text", "command", "words"),
    [
        (TEXAS, "set_pot 50\n", "no set_pot"),
        (TEXAS, "set_range_ip AA,KK:0.5,AKs\n", "range of IP"),
        (PIO, "#Range1#33:0.169,KK:1\n", "no #Range1#"),
        (PIO, "#Board#Ah Kd 9c\n", "no #Board#"),
    ],
)
def test_what_is_missing_is_named(text, command, words):
    assert command in text
    with pytest.raises(GameError, match=words):
        imported(text.replace(command, ""))


def test_files(tmp_path):
    path = tmp_path / "river.txt"
    path.write_text(TEXAS)
    assert read_import(path) == imported(TEXAS)
    path.write_text(TEXAS.replace("set_pot 50", "set_pot"))
    with pytest.raises(PointedError, match=r"river\.txt: line 1: a number is missing"):
        read_import(path)
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(GameError, match="not a text file"):
        read_import(path)
