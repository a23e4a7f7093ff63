"""Playthroughs: the rules say today what they said when the files were written. See kibitz.games.playthrough."""

from __future__ import annotations

from pathlib import Path

import pytest

from kibitz.core.errors import GameError
from kibitz.games import GAMES
from kibitz.games.playthrough import main, playthrough, replay

FILES = sorted((Path(__file__).parents[1] / "playthroughs").glob("*.txt"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_rules_have_not_changed(path):
    text = path.read_bytes().decode()
    assert replay(text) == text


def test_every_game_with_hidden_cards_has_one():
    played = {path.read_text().partition("\n")[0].partition("(")[0] for path in FILES}
    assert played == set(GAMES) - {"matrix"}


def test_a_file_is_renewed_from_its_heading(tmp_path, capsys):
    path = tmp_path / "kuhn.txt"
    path.write_text("kuhn(players=3)\nseed 5, plays 2")
    main([str(path)])
    text = path.read_text()
    assert text == playthrough("kuhn(players=3)", 5, 2) == replay(text) and text.count("payoff") == 2
    assert capsys.readouterr().out == f"{path}\n"
    assert playthrough("kuhn", 1, 3) != playthrough("kuhn", 2, 3)


def test_a_change_of_the_rules_shows():
    text = playthrough("kuhn", 1, 3)
    assert replay(text.replace("payoff", "payoff 0")) != text.replace("payoff", "payoff 0")
    with pytest.raises(GameError, match="contains 'raise', but the legal actions are pass, bet"):
        replay(text.replace("> pass", "> raise").replace("> bet", "> raise"))
    with pytest.raises(GameError, match="begins with a line for the game's spec"):
        replay("kuhn")
