"""Goofspiel, the game of pure strategy: sealed bids for a row of prizes.

Each player holds the cards 1 to `num_cards`. A prize card from a deck of the same values is turned; all bid
one card of their hand for it, unseen, and the highest bid takes the prize's points; a tie for the highest bid
takes nothing. Bids are spent. The last prize goes without a choice, each having one card left: it is no move.

The prizes come up by chance, one at a time, or in a known order (`points_order`: random, descending or
ascending). With `imp_info` players are told who won each prize but not what the others bid. `returns_type` is
win_loss (the winners share 1, the losers share -1), point_difference (points less the mean) or total_points.

Bids are made at once: here the seats bid in order and do not see the bids of the round. An infoset reads
"P1 4:2-1 3:3-3 2", seat 1 with the prize and all bids of each past round, then the prize at stake; with
`imp_info` "P1 4:1w0 3:3t 2", the prize, the seat's own bid and who won it (t for a tie).
Departs from OpenSpiel: there, without `imp_info`, players forget in which round a card was bid and so lack
perfect recall; here they remember. With `imp_info` the infosets are the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from kibitz.core import spec as specs
from kibitz.core.errors import SpecError
from kibitz.games.protocol import CHANCE, TERMINAL, Action, BuiltIn

ORDERS = ("random", "descending", "ascending")
MOST_CARDS = 100  # far beyond what can be laid out or sampled
RETURNS = ("win_loss", "point_difference", "total_points")


class Auction(NamedTuple):
    """Where play stands: the prizes turned, the bids of each finished round, and those of this round."""

    turn: int
    prizes: tuple[int, ...]
    rounds: tuple[tuple[int, ...], ...]
    sealed: tuple[int, ...]


def winner(bids: tuple[int, ...]) -> int | None:
    """The seat with the highest bid, or None for a tie."""
    best = max(bids)
    return bids.index(best) if bids.count(best) == 1 else None


@dataclass(frozen=True)
class Goofspiel(BuiltIn):
    """Goofspiel: goofspiel(num_cards=4, points_order=random, imp_info=false, returns_type=win_loss)."""

    called = "goofspiel"
    players: int = 2
    num_cards: int = 4
    points_order: str = "random"
    imp_info: bool = False
    returns_type: str = "win_loss"

    def __post_init__(self) -> None:
        if not 2 <= self.players <= 10:
            raise SpecError(f"goofspiel is for 2 to 10 players; players={self.players} was asked for")
        if not 2 <= self.num_cards <= MOST_CARDS:
            raise SpecError(f"goofspiel needs num_cards of 2 to {MOST_CARDS}, not {self.num_cards}")
        if self.points_order not in ORDERS:
            raise specs.unknown("points_order of goofspiel", self.points_order, ORDERS)
        if self.returns_type not in RETURNS:
            raise specs.unknown("returns_type of goofspiel", self.returns_type, RETURNS)

    def openspiel(self) -> str:
        """The same game's name in OpenSpiel, with its moves made in turns as they are here."""
        arguments = (
            f"players={self.players},num_cards={self.num_cards},points_order={self.points_order},"
            f"imp_info={str(self.imp_info).lower()},returns_type={self.returns_type}"
        )
        return f"turn_based_simultaneous_game(game=goofspiel({arguments}))"

    def root(self) -> Auction:
        return self._next_prize((), ())

    def _next_prize(self, prizes: tuple[int, ...], rounds: tuple[tuple[int, ...], ...]) -> Auction:
        """The start of a round: chance turns the prize, or it is the next of the known order."""
        if len(rounds) == self.num_cards - 1:
            return Auction(TERMINAL, prizes, rounds, ())
        if self.points_order == "random":
            return Auction(CHANCE, prizes, rounds, ())
        prize = len(rounds) + 1 if self.points_order == "ascending" else self.num_cards - len(rounds)
        return Auction(0, (*prizes, prize), rounds, ())

    def actions(self, state: Auction) -> list[int]:
        spent = [bids[state.turn] for bids in state.rounds]
        return [card for card in range(1, self.num_cards + 1) if card not in spent]

    def chance(self, state: Auction) -> list[tuple[Action, float]]:
        left = [prize for prize in range(1, self.num_cards + 1) if prize not in state.prizes]
        return [(prize, 1 / len(left)) for prize in left]

    def after(self, state: Auction, action: Action) -> Auction:
        turn, prizes, rounds, sealed = state
        if turn == CHANCE:
            return Auction(0, (*prizes, int(action)), rounds, ())
        sealed = (*sealed, int(action))
        if len(sealed) < self.players:
            return Auction(turn + 1, prizes, rounds, sealed)
        return self._next_prize(prizes, (*rounds, sealed))

    def infoset(self, state: Auction) -> str:
        turn, prizes, rounds, _ = state
        past = ""
        for prize, bids in zip(prizes, rounds, strict=False):
            if self.imp_info:
                won = winner(bids)
                past += f"{prize}:{bids[turn]}{'t' if won is None else f'w{won}'} "
            else:
                past += f"{prize}:{'-'.join(map(str, bids))} "
        return f"P{turn} {past}{prizes[-1]}"

    @property
    def help(self) -> str:
        known = "who won it, not what the others bid" if self.imp_info else "all bids"
        count = {
            "win_loss": "Most points win 1",
            "point_difference": "You win your points less the mean of all",
            "total_points": "You win your points",
        }[self.returns_type]
        order = "come up by chance" if self.points_order == "random" else f"come in {self.points_order} order"
        return (
            f"Each holds the cards 1 to {self.num_cards}. Prizes of 1 to {self.num_cards} points {order}.\n"
            "For each prize all bid a card at once, unseen. The highest bid takes it; on a tie nobody does. Bids are "
            f"spent.\nAfter each round you are told {known}. {count}."
        )

    def view(self, state: Auction, seat: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """(cards left and own bids that others do not know, prizes and what is known of each round).

        At the end the last round, which is no move, is known as well.
        """
        rounds, prizes = state.rounds, state.prizes
        if state.turn == TERMINAL:
            prizes, rounds = self._played_out(state)
        own = [bids[seat] for bids in rounds]
        sealed = [*(own if self.imp_info else []), *state.sealed[seat : seat + 1]]
        spent = {*own, *state.sealed[seat : seat + 1]}
        private = [str(card) for card in range(1, self.num_cards + 1) if card not in spent]
        private += [f"(bid {card})" for card in sealed]
        public: list[str] = []
        for at, prize in enumerate(prizes):
            public.append(f"prize {prize}")
            if at < len(rounds) and self.imp_info:
                won = winner(rounds[at])
                public.append("a tie" if won is None else f"seat {won} wins it")
            elif at < len(rounds):
                public.append(f"bids {'-'.join(map(str, rounds[at]))}")
        return tuple(private), tuple(public)

    def _played_out(self, state: Auction) -> tuple[tuple[int, ...], tuple[tuple[int, ...], ...]]:
        """All prizes and bids at the end: what is left, a prize and a card each, is no move."""
        total = self.num_cards * (self.num_cards + 1) // 2
        last = tuple(total - sum(bids[seat] for bids in state.rounds) for seat in range(self.players))
        return (*state.prizes, total - sum(state.prizes)), (*state.rounds, last)

    def payoff(self, state: Auction) -> list[float]:
        prizes, rounds = self._played_out(state)
        points = [0.0] * self.players
        for prize, bids in zip(prizes, rounds, strict=True):
            won = winner(bids)
            if won is not None:
                points[won] += prize
        if self.returns_type == "total_points":
            return points
        if self.returns_type == "point_difference":
            mean = sum(points) / self.players
            return [p - mean for p in points]
        winners = points.count(max(points))
        if winners == self.players:
            return [0.0] * self.players
        return [1 / winners if p == max(points) else -1 / (self.players - winners) for p in points]
