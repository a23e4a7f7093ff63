"""Playthroughs: a few plays of a game written out, so that a change of its rules shows in a file.

A file begins with the game's spec, the seed and the number of plays; then each play has all that the rules say on the
way: whose turn it is, what the seat knows, what it may do and (after ">") does, and the payoffs. `replay` makes the
moves of a text once more and writes it anew: the rules are unchanged if and only if it is the same text. The tests do
that with all of tests/playthroughs. To renew files there from their first two lines, after a change that is meant:

    python -m kibitz.games.playthrough tests/playthroughs/*.txt

A new one is a file of two lines, such as "leduc" and "seed 1, plays 3", renewed.
"""

from __future__ import annotations

import random
import re
import sys
from collections.abc import Callable
from pathlib import Path

from kibitz.core.errors import GameError
from kibitz.games import CHANCE, TERMINAL, Game, game
from kibitz.games.protocol import Action, State

Pick = Callable[[Game, State, list[Action]], Action]  # (rules, state, what can happen) -> what does


def playthrough(spec: str, seed: int, plays: int) -> str:
    """Plays in which every action is as likely as the others, and chance as the rules have it."""
    rng = random.Random(seed)

    def pick(rules: Game, state: State, choices: list[Action]) -> Action:
        if rules.turn(state) != CHANCE:
            return rng.choice(choices)
        if hasattr(rules, "sample"):
            drawn: Action = rules.sample(state, rng)
            return drawn
        outcomes = rules.chance(state)
        return rng.choices([outcome for outcome, _ in outcomes], [p for _, p in outcomes])[0]

    return _written(spec, seed, plays, pick)


def replay(text: str) -> str:
    """The same moves by the rules as they are now."""
    moves = iter(re.findall(r"^    > (.*)$", text, re.M))

    def pick(rules: Game, state: State, choices: list[Action]) -> Action:
        said = next(moves, "")
        if rules.turn(state) == CHANCE:
            choices = [said] if hasattr(rules, "sample") else [outcome for outcome, _ in rules.chance(state)]
        for choice in choices:
            if str(choice) == said:
                return choice
        raise GameError(f"the playthrough of {rules} plays {said!r}, where there is {', '.join(map(str, choices))}")

    return _written(*_heading(text), pick)


def _heading(text: str) -> tuple[str, int, int]:
    match = re.match(r"(.+)\nseed (\d+), plays (\d+)(\n|$)", text)
    if not match:
        raise GameError("a playthrough begins with a line for the game's spec and one such as 'seed 1, plays 3'")
    return match[1], int(match[2]), int(match[3])


def _written(spec: str, seed: int, plays: int, pick: Pick) -> str:
    rules = game(spec)
    lines = [spec, f"seed {seed}, plays {plays}"]
    for number in range(1, plays + 1):
        state = rules.root()
        lines += ["", f"play {number}"]
        while (turn := rules.turn(state)) != TERMINAL:
            actions: list[Action] = []
            if turn == CHANCE:
                lines.append("  chance")
            else:
                actions = list(rules.actions(state))
                lines += [f"  seat {turn} knows {rules.infoset(state)}", f"    {', '.join(map(str, actions))}"]
            action = pick(rules, state, actions)
            lines.append(f"    > {action}")
            state = rules.after(state, action)
        lines.append(f"  payoff {' '.join(f'{value:.12g}' for value in rules.payoff(state))}")
    return "\n".join(lines) + "\n"


def main(paths: list[str]) -> None:
    """Renew files."""
    for path in map(Path, paths):
        path.write_text(playthrough(*_heading(path.read_text())))
        print(path)


if __name__ == "__main__":
    main(sys.argv[1:])
