"""What tests of games of fewer bets share: small definitions, strategies out of nothing, and players of any size."""

from __future__ import annotations

import random
from hashlib import blake2b
from pathlib import Path

from kibitz.games.views import View
from kibitz.poker.rules.acpc import NO_CAP, Definition
from kibitz.poker.rules.rules import Poker

SMALL = (
    "GAMEDEF\nnolimit\nnumPlayers = 2\nnumRounds = 2\nstack = 12 12\nblind = 1 1\nnumSuits = 2\nnumRanks = 3\n"
    "numHoleCards = 1\nnumBoardCards = 0 1\nEND GAMEDEF\n"
)


def small_file(folder: Path, stack: int = 12) -> str:
    """Cards as in Leduc, without limit."""
    path = folder / f"small{stack}.game"
    path.write_text(SMALL.replace("12 12", f"{stack} {stack}"))
    return str(path)


def no_limit(
    stacks: tuple[int, ...],
    blinds: tuple[int, ...],
    board: tuple[int, ...] = (0, 1),
    first: int = 0,
    raises: int = NO_CAP,
) -> Definition:
    n = len(board)
    return Definition(
        False, len(stacks), n, stacks, blinds, (), (first,) + (0,) * (n - 1), (raises,) * n, 4, 13, 1, board
    )


class Stub:
    """A strategy of any game: numbers that follow from the infoset; for some there is no row."""

    name = "stub"

    def __init__(self, seed: int = 0, silent: float = 0.0) -> None:
        self.seed, self.share = seed, silent

    def dice(self, seat: int, infoset: str) -> random.Random:
        return random.Random(blake2b(f"{self.seed} {seat} {infoset}".encode()).digest())

    def answer(self, seat: int, infoset: str, actions: tuple[str, ...]) -> list[float] | None:
        if self.dice(seat, f"silent {infoset}").random() < self.share:
            return None
        dice = self.dice(seat, infoset)
        weights = [dice.random() ** 3 * (dice.random() < 0.8) for _ in actions]
        total = sum(weights)
        return [w / total for w in weights] if total else [1.0 / len(actions)] * len(actions)


class AnySize:
    """Bets of random legal sizes: the smallest, all in, and those between."""

    name = "any size"

    def __init__(self, seed: int = 0) -> None:
        self.dice = random.Random(seed)

    def begin(self, seat: int) -> None:
        pass

    def end(self, view: View, payoff: float) -> None:
        pass

    def act(self, view: View) -> list[float]:
        dice, actions = self.dice, view.actions
        raises = [k for k, action in enumerate(actions) if action not in ("fold", "call")]
        at = actions.index("call")
        if "fold" in actions and dice.random() < 0.1:
            at = actions.index("fold")
        elif raises and dice.random() < 0.6:
            near = raises[: 1 + len(raises) // 8]
            at = dice.choice([raises[0], raises[-1], dice.choice(raises), dice.choice(near), dice.choice(near)])
        return [float(k == at) for k in range(len(actions))]


def fewer(rules: Poker, bets: tuple[float, ...], raises: int = 0) -> Poker:
    """A game of fewer bets of rules that have no file."""
    from kibitz.poker.rules.rules import _dropped, _fewer

    return _fewer(rules.definition, _dropped(bets, raises), "")
