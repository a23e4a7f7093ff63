"""The handlers of addresses about spots, under /api/spots and /api/range."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from starlette.requests import Request

from kibitz.web.errors import Wrong
from kibitz.web.library import Library
from kibitz.web.spot_hands import SpotHand
from kibitz.web.spot_kinds import has_gpu
from kibitz.web.spot_nodes import range_data
from kibitz.web.spots import WebSpot, WebSpots

Message = dict[str, Any]
Handler = Callable[[Request, Message], dict[str, Any]]
MOST_LINE = 400  # characters


class SpotServer:
    """Spots, their decisions, and hands that are played against them."""

    def __init__(self, library: Library) -> None:
        self.spots = WebSpots(library)

    def handlers(self) -> list[tuple[str, str, Handler]]:
        return [
            ("POST", "/api/range", self.range),  # {"text": "TT+, AKs"}: weights of the 169 classes
            ("GET", "/api/spots", self.listed),  # of this session, and saved ones
            ("POST", "/api/spots", self.open),  # {"kind": "two", "board", "ranges", "pot", ...}: solve it
            ("GET", "/api/spots/{spot}", self.spot),  # how far it is
            ("POST", "/api/spots/{spot}/stop", self.stop),  # end the solve, and keep what it has
            ("DELETE", "/api/spots/{spot}", self.close),
            ("GET", "/api/spots/{spot}/node", self.node),  # ?line=check, bet 50
            ("GET", "/api/spots/{spot}/runouts", self.runouts),  # ?line=: what each card brings, where one comes
            ("POST", "/api/spots/{spot}/hands", self.deal),  # {"seat": 0}: deal a hand against the solution
            ("GET", "/api/spots/{spot}/hands", self.hand),  # the hand that is being played
            ("POST", "/api/spots/{spot}/act", self.act),  # {"hand": 0, "decision": 0, "action": "call"}
        ]

    def _spot(self, request: Request) -> WebSpot:
        return self.spots.spot(request.path_params["spot"])

    def range(self, request: Request, message: Message) -> dict[str, Any]:
        text = message.get("text")
        if not isinstance(text, str):
            raise Wrong("the request must have a text")
        return range_data(text)

    def listed(self, request: Request, message: Message) -> dict[str, Any]:
        return {"spots": self.spots.lines(), "saved": self.spots.saved(), "gpu": has_gpu()}

    def open(self, request: Request, message: Message) -> dict[str, Any]:
        return self.spots.open(message).data()

    def spot(self, request: Request, message: Message) -> dict[str, Any]:
        return self._spot(request).data()

    def stop(self, request: Request, message: Message) -> dict[str, Any]:
        return self.spots.stop(request.path_params["spot"]).data()

    def close(self, request: Request, message: Message) -> dict[str, Any]:
        self.spots.close(request.path_params["spot"])
        return {}

    def node(self, request: Request, message: Message) -> dict[str, Any]:
        spot = self._spot(request)
        with spot.lock:
            return spot.question.node_data(spot.at(line_of(request)))

    def runouts(self, request: Request, message: Message) -> dict[str, Any]:
        spot = self._spot(request)
        with spot.lock:
            return {"cards": spot.question.runouts(spot.at(line_of(request)))}

    def deal(self, request: Request, message: Message) -> dict[str, Any]:
        seat = message.get("seat")
        if type(seat) is not int or seat not in (0, 1):
            raise Wrong("seat must be 0, out of position, or 1, in position")
        spot = self._spot(request)
        with spot.lock:
            spot.play = SpotHand.dealt(spot.playable(), seat, spot.play)
            return spot.play.data()

    def hand(self, request: Request, message: Message) -> dict[str, Any]:
        spot = self._spot(request)
        with spot.lock:
            return self._played(spot).data()

    def act(self, request: Request, message: Message) -> dict[str, Any]:
        hand, decision, action = message.get("hand"), message.get("decision"), message.get("action")
        if type(hand) is not int or type(decision) is not int or not isinstance(action, str):
            raise Wrong("the request must have the whole numbers hand and decision, and the name of an action")
        spot = self._spot(request)
        with spot.lock:
            self._played(spot).act(hand, decision, action)
            return self._played(spot).data()

    def _played(self, spot: WebSpot) -> SpotHand:
        if spot.play is None:
            raise Wrong("no hand of this spot is being played")
        return spot.play


def line_of(request: Request) -> str:
    line = request.query_params.get("line", "")
    if len(line) > MOST_LINE:
        raise Wrong(f"a line has at most {MOST_LINE} characters")
    return line
