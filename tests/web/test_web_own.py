"""A game of a user's own without `view` on the page: it is followed by its moves, and holdings are infosets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from web_client import Client

import kibitz
from kibitz.games.protocol import CHANCE, TERMINAL
from kibitz.web import look
from kibitz.web.library import Library

# Kuhn poker as a user may write it first: nothing but what a game needs.
RULES = """
from kibitz.games import CHANCE, TERMINAL

class Cards:
    players = 2
    def root(self): return ()
    def turn(self, state):
        if len(state) < 2: return CHANCE
        done = "".join(state[2:])
        return TERMINAL if done in ("pp", "pbp", "pbb", "bp", "bb") else len(done) % 2
    def actions(self, state): return ["p", "b"]
    def chance(self, state): return [(c, 1 / (3 - len(state))) for c in "JQK" if c not in state]
    def after(self, state, action): return (*state, action)
    def infoset(self, state): return state[self.turn(state)] + "".join(state[2:])
    def payoff(self, state):
        done, win = "".join(state[2:]), 1 if "JQK".index(state[0]) > "JQK".index(state[1]) else -1
        won = {"pp": win, "pbp": -1, "bp": 1}.get(done, 2 * win)
        return [won, -won]
"""


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, Any]:
    folder = tmp_path_factory.mktemp("own")
    (folder / "cards.py").write_text(RULES)
    game = f"{folder / 'cards.py'}:Cards"
    profile = kibitz.solve(game, "cfr+", iterations=50)
    profile.save(folder / "cards.profile")
    return folder, game, profile


def by_definition(rules: Any, profile: Any, moves: tuple[str, ...]) -> dict[str, float]:
    """How likely each infoset of the seat to move is after some moves of the seats, in all deals."""
    found: dict[str, float] = {}

    def walk(state: Any, left: tuple[str, ...], p: float) -> None:
        turn = rules.turn(state)
        if turn == CHANCE:
            for outcome, share in rules.chance(state):
                walk(rules.after(state, outcome), left, p * share)
        elif turn != TERMINAL and left:
            walk(rules.after(state, left[0]), left[1:], p * profile[turn, rules.infoset(state)][left[0]])
        elif turn != TERMINAL:
            found[rules.infoset(state)] = found.get(rules.infoset(state), 0.0) + p

    walk(rules.root(), moves, 1.0)
    return found


def test_every_decision_of_it_is_shown(shelf: tuple[Path, str, Any]) -> None:
    folder, game, profile = shelf
    library = Library(folder, [game])
    rules = kibitz.game(game)
    id = next(entry.id for entry in library.strategies() if entry.kind == "profile")
    strategy = library.strategy(id)
    for moves in ((), ("p",), ("b",), ("p", "b")):
        node = look.node(strategy, moves, library.pool)
        assert node["kind"] == "decision" and node["seat"] == len(moves) % 2
        assert [step["word"] for step in node["steps"]] == list(moves)
        wanted = by_definition(rules, profile, moves)
        assert {cell["infoset"] for cell in node["cells"]} == set(wanted)
        total = sum(wanted.values())
        for cell in node["cells"]:
            assert cell["name"] == cell["infoset"]
            assert cell["weight"] == pytest.approx(wanted[cell["infoset"]] / total)
            assert cell["p"] == pytest.approx(list(profile[node["seat"], cell["infoset"]].values()))
        assert all(cell["name"] for seat in node["ranges"] for cell in seat["cells"])  # no blank squares
        assert node["reach_all"] == pytest.approx(total)  # agents have rows in single precision
    end = look.node(strategy, ("p", "p"), library.pool)
    assert end["kind"] == "end" and all(cell["name"] for seat in end["ranges"] for cell in seat["cells"])
    library.pool.shutdown()


def test_it_is_played_to_the_end(shelf: tuple[Path, str, Any]) -> None:
    folder, game, _ = shelf
    made = Client(Library(folder, [game]))
    try:
        names = {each["kind"]: each["id"] for each in made.get("/api/library").data["strategies"]}
        table = made.post("/api/tables", {"opponents": [names["profile"]]}).data
        played = 0
        while played < 12:
            if table["over"]:
                assert all(table["private"]) and len(table["private"]) == min(1, table["decision"])
                review = made.get(f"/api/tables/{table['id']}/review").data
                assert "no method `view`" in review["belief"]["text"][0]
                assert len(review["would"]) == table["decision"]
                table = made.post(f"/api/tables/{table['id']}/next", {"hand": table["hand"]}).data
                played += 1
                continue
            assert table["has_view"] is False and len(table["private"]) == 1 and table["private"][0][0] in "JQK"
            before = len(table["events"])
            move = {"hand": table["hand"], "decision": table["decision"], "action": "b"}
            table = made.post(f"/api/tables/{table['id']}/act", move).data
            own = [event for event in table["events"] if event["seat"] == table["seat"]]
            assert len(table["events"]) == before + 1 == len(own) and own[-1]["word"] == "b"  # and none of the other's
    finally:
        made.close()
