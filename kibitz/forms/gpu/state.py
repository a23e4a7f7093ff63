"""The state of CFR on a sequence form by a GPU.

The arrays have the names, the order and the type (float64) of those on a processor, so a run that one device began the
other continues. Sums are added up in another order, so the last digits differ from a processor's; the same GPU gives
the same bytes again.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from kibitz.core.errors import SolverError
from kibitz.forms.cfr_state import NOISE, SequenceCfrState
from kibitz.forms.gpu.layout import FIELDS, FIXED, INDICES, GpuLayout, layout_of
from kibitz.forms.gpu.source import SOURCE
from kibitz.forms.protocol import Measure
from kibitz.forms.rows import RowMap
from kibitz.forms.treeplexes import Treeplexes

if TYPE_CHECKING:
    from kibitz.forms.kernels.cfr import Rule

Floats = NDArray[np.float64]
Shape = tuple[int, int]  # of a launch: blocks, and threads of each

THREADS = 1024  # of a block, at most
MOST_ITERATIONS = 1 << 14  # of a launch
TRIAL, FEW = 0.002, 4  # seconds that a shape is tried for, iterations at least
SLOW = 0.6  # of the best rate: shapes with fewer blocks are not tried then
MARGIN = 64 << 20  # bytes of the device's memory that are left to CUDA


class Launcher(Protocol):
    """A GPU with the compiled source: arrays there, and launches of which each waits for the one before."""

    multiprocessors: int

    def free(self) -> int: ...
    def upload(self, array: NDArray[Any]) -> Any: ...
    def download(self, array: Any, into: NDArray[Any]) -> None: ...
    def overwrite(self, array: Any, content: NDArray[Any]) -> None: ...
    def address(self, array: Any) -> int: ...
    def compile(self, source: str, defines: dict[str, int]) -> None: ...
    def launch(self, name: str, shape: Shape, arguments: tuple[Any, ...]) -> None: ...
    def seconds(self, work: Any) -> float: ...


class GpuCfrState(SequenceCfrState):
    """Regrets, strategies and averages of a run on a GPU. Those in memory are copied when they are asked for."""

    def __init__(
        self, form: Treeplexes, rows: RowMap | None, start: Floats | None, launcher: Launcher | None = None,
        coded: bool | None = None,
    ) -> None:  # fmt: skip
        super().__init__(form, rows, start)
        if launcher is None:
            from kibitz.forms.gpu.launcher import CupyLauncher

            launcher = CupyLauncher()
        self._gpu = launcher
        layout = layout_of(form, self.rows, coded)
        check_memory(layout, launcher.free(), form.spec)
        self.layout = layout
        launcher.compile(
            SOURCE, {"OTHERS": layout.others, "SHARED": int(layout.shared), "CODED": int(layout.coded),
                     "THREADS": THREADS}
        )  # fmt: skip
        room = {name: launcher.upload(np.zeros(max(1, size))) for name, size in layout.room().items()}
        fixed = {name: launcher.upload(_some(layout.arrays[name])) for name in (*FIXED, "payoff", *INDICES)}
        noise = np.zeros(max(1, len(self._arrays.noise)), np.float32)
        self._there: dict[str, Any] = {**room, **fixed, "noise": launcher.upload(noise)}
        place = {name: launcher.address(self._there[name]) for name in FIELDS}
        place["value"] = place["leaf"] + 8 * layout.sequences  # side by side: long rows add to both
        numbers = [*place.values(), layout.seats, layout.sequences, layout.columns, len(layout.arrays["table"])]
        units = np.array([form.scale, NOISE / form.scale])
        self._form = launcher.upload(np.concatenate([np.array(numbers, np.uint64), units.view(np.uint64)]))
        self._gate = launcher.upload(np.zeros(1, np.uint32))
        self._pace = None
        self._untried = shapes(launcher.multiprocessors)
        self._rates: dict[Shape, float] = {}  # iterations a second
        self._warm = False
        self.shape = self._untried[0]
        launcher.overwrite(self._there["trial_plan"], np.ones(max(1, form.sequences)))
        self._send()

    # Between the two memories.

    def _names(self) -> tuple[str, ...]:
        return ("regret", "average", "strategy", "noise", *(() if self.rows is None else ("chosen",)))

    def _send(self) -> None:
        for name in (*self._names(), *(() if self.rows is None else ("own",))):
            self._gpu.overwrite(self._there[name], _some(getattr(self._arrays, name)))
        plan = np.empty(self.form.sequences)
        plan[self.layout.arrays["place"]] = self._arrays.plan
        self._gpu.overwrite(self._there["plan"], plan)

    def _fetch(self, *names: str) -> None:
        for name in names:
            self._gpu.download(self._there[name], getattr(self._arrays, name))

    @property
    def state(self) -> dict[str, NDArray[Any]]:
        """The arrays in memory, as they are on the GPU; after they were overwritten `restore` sends them there."""
        self._fetch(*self._names())
        return super().state

    def restore(self) -> None:
        super().restore()
        self._send()

    # Iterations.

    def iterate(self, rule: Rule, done: int, count: int, threads: int) -> None:
        """`count` iterations after `done`; threads are those of a processor, and do nothing here."""
        if not self.form.points:
            super().iterate(rule, done, count, threads)
            self._send()
            return
        while count:
            if done & (done + 1) == 0:  # before iterations 1, 2, 4, 8, ...
                self._launch("listen", self.shape)
            n = min(count, (1 << (done + 1).bit_length()) - (done + 1))
            self._several(rule, done, n)
            done, count = done + n, count - n

    def _several(self, rule: Rule, done: int, count: int) -> None:
        """Iterations without a look at the noise between, by the shape of launches that was fastest."""
        while count:
            shape, n = self._next(count)
            n = min(n, count, MOST_ITERATIONS)
            arguments = (
                self._gpu.upload(pace_of(rule, done, n)), np.int64(n), np.float64(rule.floor),
                np.float64(rule.prediction), np.int64(rule.alternating),
            )  # fmt: skip
            self._note(shape, n, self._gpu.seconds(partial(self._launch, "iterate", shape, *arguments)))
            done, count = done + n, count - n

    def _next(self, count: int) -> tuple[Shape, int]:
        """(shape of the next launch, its iterations). Shapes are tried once, until they are much slower."""
        if self._untried and count >= FEW:
            rate = max(self._rates.values(), default=0.0)
            return self._untried[0], max(FEW, int(rate * TRIAL))
        return self.shape, count

    def _note(self, shape: Shape, count: int, seconds: float) -> None:
        if not self._untried or shape != self._untried[0] or count < FEW:
            return
        if self._warm:  # the first launch measures nothing
            self._rates[shape] = count / max(seconds, 1e-9)
            self.shape = max(self._rates, key=lambda each: self._rates[each])
            del self._untried[0]
            if self._rates[shape] < SLOW * self._rates[self.shape]:
                self._untried.clear()
        self._warm = True

    def _launch(self, name: str, shape: Shape, *arguments: Any) -> None:
        self._gpu.overwrite(self._gate, np.zeros(1, np.uint32))
        self._gpu.launch(name, shape, (self._form, *arguments, self._gate))

    # Results.

    def probabilities(self, begun: bool) -> Floats:
        """The average strategy by infoset column (before the first iteration: the start)."""
        if begun:
            self._fetch("average")
        return super().probabilities(begun)

    def measure(self, begun: bool) -> Measure:
        """What that is worth: computed on the GPU too."""
        if not self.form.points:
            return super().measure(begun)
        weights: Any = np.uint64(0)
        if begun and self.rows is None:
            weights = self._there["average"]
        else:  # sequences of one row add up, which is left to the processor
            strategy = self.form.to_strategy(self.probabilities(begun))
            self._gpu.overwrite(self._there["trial"], strategy)
        self._launch("measure", self.shape, weights)
        result = np.empty(2 * self.form.seats)
        self._gpu.download(self._there["result"], result)
        value, best = result[: self.form.seats], result[self.form.seats :]
        return Measure(value, best, max(0.0, float(np.sum(best - value))))


def shapes(multiprocessors: int) -> list[Shape]:
    """Launches that are tried: many threads for large games, few blocks for small ones, as these meet sooner."""
    blocks = [multiprocessors >> k for k in range(6) if multiprocessors >> k > 1]
    return [(blocks[0], THREADS), (blocks[0], THREADS // 2), *((few, THREADS) for few in (*blocks[1:], 1))]


def _some(array: NDArray[Any]) -> NDArray[Any]:
    """An array with something in it: an empty one has no place in a device's memory."""
    return np.ascontiguousarray(array) if array.size else np.zeros(1, array.dtype)


def pace_of(rule: Rule, done: int, count: int) -> Floats:
    """[count, 3] for each iteration after `done`: shares of positive and negative regrets kept, weight of its plan."""
    t = np.arange(done + 1, done + count + 1, dtype=np.float64)
    pace = np.empty((count, 3))
    pace[:, 0], pace[:, 1] = _kept(rule.alpha, t - 1), _kept(rule.beta, t - 1)
    pace[:, 2] = np.where(t > rule.delay, np.maximum(t - rule.delay, 0.0) ** rule.gamma, 0.0)
    return pace


def _kept(exponent: float, t: Floats) -> Floats:
    """t^exponent / (t^exponent + 1), as `kernels.cfr.discount`."""
    if np.isinf(exponent):
        return np.full(len(t), 1.0 if exponent > 0 else 0.0)
    with np.errstate(divide="ignore"):
        return np.asarray(1.0 / (1.0 + t**-exponent))


def check_memory(layout: GpuLayout, free: int, game: str) -> None:
    """Refuse a game that the GPU has no memory for, before anything is sent there."""
    if layout.bytes + MARGIN > free:
        raise SolverError(
            f"{game or 'the game'} needs {layout.bytes / 1e9:,.2f} GB of the GPU's memory, where {free / 1e9:,.2f} GB "
            "are free: leave out --device, or take an abstraction"
        )
