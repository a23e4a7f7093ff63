"""Look at random places of small games: every number against the profile, exact values and all deals one by one."""

from __future__ import annotations

import random

import pytest
from typer.testing import CliRunner
from web_client import client

import kibitz
from kibitz.cli import app
from kibitz.games.protocol import CHANCE, TERMINAL
from kibitz.games.views import view_of
from kibitz.web import look
from kibitz.web.library import Library


@pytest.fixture(scope="module")
def held(tmp_path_factory):
    folder = tmp_path_factory.mktemp("truth")
    kibitz.solve("leduc", "cfr+", iterations=6).save(folder / "leduc.profile")
    kibitz.solve("rhode_island(ranks=3)", "cfr+", iterations=4).save(folder / "ri.profile")
    library = Library(folder)
    yield folder, library, {e.name: library.strategy(e.id) for e in library.strategies() if e.path is not None}
    library.pool.shutdown()


def every_way(rules, profile, steps):
    """All histories that lead to some public words: (state, chance, how likely each seat did what it did)."""
    todo, found = [(rules.root(), 1.0, (1.0,) * rules.players)], []
    while todo:
        state, chance, reach = todo.pop()
        public, turn = view_of(rules, state, 0).public, rules.turn(state)
        if public[: len(steps)] != tuple(steps)[: len(public)]:
            continue
        if turn == TERMINAL or (len(public) >= len(steps) and turn != CHANCE):
            if len(public) >= len(steps):
                found.append((state, chance, reach))
            continue
        if turn == CHANCE:
            todo += [(rules.after(state, outcome), chance * float(p), reach) for outcome, p in rules.chance(state)]
            continue
        row = profile[turn, rules.infoset(state)]
        for action in rules.actions(state):
            now = [*reach]
            now[turn] *= row[str(action)]
            todo.append((rules.after(state, action), chance, tuple(now)))
    return found


def wander(strategy, library, drawn):
    """A decision after random public steps."""
    while True:
        steps = []
        for _ in range(drawn.randrange(9)):
            node = look.node(strategy, steps, library.pool)
            if node["kind"] == "end":
                break
            words = [a["name"] for a in node["actions"]]
            if node["kind"] == "chance":
                words = node["choices"].get("words") or node["choices"]["deck"]
            steps.append(drawn.choice(words))
        node = look.node(strategy, steps, library.pool)
        if node["kind"] == "decision":
            return steps, node


@pytest.mark.parametrize(("name", "times"), [("leduc", 25), ("ri", 12)])
@pytest.mark.some(1)
def test_random_places(held, name, times):
    _, library, strategies = held
    strategy, drawn = strategies[name], random.Random(7)
    rules, profile = strategy.rules, strategy.profile
    values = kibitz.infoset_values(rules, profile)
    for _ in range(times):
        steps, node = wander(strategy, library, drawn)
        ways = every_way(rules, profile, steps)
        weights = [chance * reach[0] * reach[1] for _, chance, reach in ways]
        assert node["reach_all"] == pytest.approx(sum(weights), rel=1e-5, abs=1e-12)
        given = sum(chance for _, chance, _ in ways)
        assert node["reach"] == pytest.approx(sum(weights) / given, rel=1e-5, abs=1e-12)
        for seat, shown in enumerate(node["ranges"]):
            total = {}
            for (state, _, _), weight in zip(ways, weights, strict=True):
                key = " ".join(view_of(rules, state, seat).private)
                total[key] = total.get(key, 0.0) + weight
            for cell in shown["cells"]:
                wanted = total.get(cell["name"], 0.0) / sum(weights) if sum(weights) > 0 else 0.0
                assert cell["weight"] == pytest.approx(wanted, rel=1e-4, abs=1e-7), (steps, seat, cell)
        for cell in node["cells"]:
            number = profile.infosets.find(node["seat"], cell["infoset"])
            row = profile[node["seat"], cell["infoset"]]
            order = [action["name"] for action in node["actions"]]
            assert cell["p"] == pytest.approx([row[action] for action in order], abs=1e-6)
            first = int(profile.infosets.first[number])
            exact = dict(zip(map(str, row), values.values[first : first + len(row)].tolist(), strict=True))
            for action, value in zip(order, cell["values"], strict=True):
                if value is not None:
                    assert value == pytest.approx(exact[action], rel=1e-6, abs=1e-9)


def test_kibitz_show_says_the_same(held):
    folder, library, strategies = held
    node = look.node(strategies["leduc"], ["raise"], library.pool)
    cell = next(each for each in node["cells"] if each["name"] == "Qs")
    done = CliRunner().invoke(app, ["show", str(folder / "leduc.profile"), "--player", "1", "--top", "0"])
    assert done.exit_code == 0, done.output
    line = next(line for line in done.output.splitlines() if line.split()[:1] == [cell["infoset"]])
    for p in cell["p"]:
        assert p in (0.0, 1.0) or f"{100 * p:.1f}%" in line, (line, cell)
    for value in cell["values"]:
        assert f"{value:.4f}" in line


def test_a_table_replays_from_its_seed(held):
    folder, _, strategies = held
    id = strategies["leduc"].entry.id
    with client(folder, seeds=lambda: None) as made:
        data = made.post("/api/tables", {"opponents": [id]}).data
        table = made.tables.table(data["id"])
        for number in range(10):
            while not data["over"]:
                body = {"hand": number, "decision": data["decision"], "action": data["actions"][-1]["name"]}
                data = made.post(f"/api/tables/{table.id}/act", body).data
            deal = table.machine.hand(table.seed, number)
            state, words = deal.start(), [e["word"] for e in data["events"] if not e["word"].startswith("seat ")]
            while (turn := table.rules.turn(state)) != TERMINAL:
                seen = len(view_of(table.rules, state, 0).public)
                state = deal.draw(state) if turn == CHANCE else table.rules.after(state, words[seen])
            assert list(view_of(table.rules, state, data["seat"]).private) == data["private"]
            assert [float(x) for x in table.rules.payoff(state)] == table.now.payoffs
            data = made.post(f"/api/tables/{table.id}/next", {"hand": number}).data
