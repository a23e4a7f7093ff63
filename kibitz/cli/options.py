"""Options and arguments of the commands: how they are declared, and those that several commands share.

An option that is a number has one range, the same in every command, and it is checked as it is read.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from kibitz.cli import complete
from kibitz.core.errors import SolverError

EVERYWHERE = 1 << 53  # whole numbers up to here are the same as floating-point numbers, in files and in kernels


@dataclass(frozen=True)
class NumberRange:
    """From `low` to `high`; without `low` itself if it is `above`."""

    low: float
    high: float
    above: bool = False

    def check(self, option: str, value: Any) -> None:
        """Refuse a number that is not inside, nan among them."""
        if value != value:
            raise SolverError(f"{option} nan should be a number")
        if value < self.low or (self.above and value == self.low):
            raise SolverError(f"{option} {shown(value)} should be {self._least}")
        if value > self.high:
            raise SolverError(f"{option} {shown(value)} should be {self._least}, and at most {shown(self.high)}")

    @property
    def _least(self) -> str:
        return f"above {shown(self.low)}" if self.above else f"{shown(self.low)} or more"


SECONDS = NumberRange(0, 1e9, above=True)  # thirty years
COUNT = NumberRange(1, EVERYWHERE)
RANGES: dict[str, NumberRange] = {
    **dict.fromkeys(("--checkpoint-every", "--seconds", "--timeout", "--wait"), SECONDS),
    # The machine's memory is checked when it is asked for.
    **dict.fromkeys(("--deals", "--hands", "--local", "--memory", "--sampled", "--samples"), COUNT),
    "--iterations": NumberRange(0, EVERYWHERE),
    "--merge-every": COUNT,
    "--shards": NumberRange(1, 1 << 16),
    **dict.fromkeys(("--jobs", "--threads"), NumberRange(1, 1_024)),
    "--player": NumberRange(0, 99),
    **dict.fromkeys(("--precision", "--tolerance", "--until"), NumberRange(0, 1e300)),  # most solvers never reach 0
    "--ante": NumberRange(0, 1e9),
    "--begin": NumberRange(2, 99),
    "--boards": NumberRange(1, 10_000),
    "--bins": NumberRange(1, 1_000),
    "--cuts": NumberRange(1, 1_000),
    "--flops": NumberRange(1, 100_000),
    "--runs": NumberRange(1, 2),
    "--pilot": NumberRange(1, EVERYWHERE),
    "--hours": NumberRange(0, 1e5, above=True),
    "--late": NumberRange(0, 1_000_000),
    "--players": NumberRange(2, 3),
    "--port": NumberRange(0, 65_535),
    "--prune": NumberRange(0, 1e15, above=True),
    "--rounds": NumberRange(1, 99),
    "--sampled-seeds": NumberRange(1, 1_000),
    "--seed": NumberRange(0, (1 << 63) - 1),
    "--seeds": NumberRange(1, 1_000_000),
    "--top": NumberRange(0, 100_000_000),
}


def option(name: str, metavar: str, help: str, completion: Any = None, check: Any = None) -> Any:
    """An option with a value. completion: what the Tab key offers; check: refuses a wrong value."""
    return typer.Option(name, metavar=metavar, help=help, autocompletion=completion, callback=check)


def flag(name: str, help: str) -> Any:
    """An option that is on or off."""
    return typer.Option(name, help=help)


def argument(metavar: str, help: str, completion: Any = None) -> Any:
    """What is given without a name, in its place."""
    return typer.Argument(metavar=metavar, help=help, show_default=False, autocompletion=completion)


def number(name: str, metavar: str, help: str) -> Any:
    """An option that takes a number within the range of its name."""

    def check(value: Any) -> Any:
        return None if value is None else checked(name, value)

    return option(name, metavar, help, check=check)


def _device(value: str) -> str:
    if value not in DEVICES:
        raise SolverError(f"--device {value:.40}: choose {' or '.join(DEVICES)}")
    return value


def _on(context: typer.Context, value: str | None) -> str | None:
    """While the command runs its work is done there."""
    if value is not None and not context.resilient_parsing:
        from kibitz.core.executor import executing

        context.with_resource(executing(value))
    return value


PLAYER_HELP = (
    "uniform, rule (toepen), always-call, always-fold or always-raise (poker), shipped (limit hold'em for two or "
    "three), the path of a saved strategy, "
    "'search(PATH, seconds=1)' or 'exploit(PATH, bound=0.1)'"
)

# Options that mean the same in several commands. A default stands with the command.

DEVICES = ("cpu", "gpu")
GPU_NEEDS = "needs kibitz[gpu13], or kibitz[gpu12] for CUDA 12"
DEVICE_HELP = f"cpu, or gpu ({GPU_NEEDS}) for poker with hand buckets, such as percentile(8)."
Device = Annotated[str, option("--device", "DEVICE", DEVICE_HELP, check=_device)]
SAMPLED_HELP = f"cpu, or gpu ({GPU_NEEDS}) for experts that are solved on sampled boards or hands."
StitchDevice = Annotated[str, option("--device", "DEVICE", SAMPLED_HELP, check=_device)]
SolveDevice = Annotated[
    str,
    option("--device", "DEVICE", f"cpu, or gpu ({GPU_NEEDS}) for CFR on a game's tree, for two-player poker with all "
           "hands, and for poker with hand buckets, such as percentile(8). Either resumes what the other began.",
           check=_device),
]  # fmt: skip
EvaluateDevice = Annotated[
    str, option("--device", "DEVICE", f"cpu, or gpu ({GPU_NEEDS}): for --whole, and for responders.", check=_device)
]
MatchDevice = Annotated[str, option("--device", "DEVICE", f"cpu, or gpu ({GPU_NEEDS}): for --boards.", check=_device)]
TrainDevice = Annotated[
    str, option("--device", "DEVICE", f"cpu, or gpu ({GPU_NEEDS}). Either resumes what the other began.", check=_device)
]
SpotDevice = Annotated[
    str, option("--device", "DEVICE", f"cpu, or gpu ({GPU_NEEDS}) for spots without locks.", check=_device)
]
ON_HELP = "local, local:N, ray, ray://HOST:PORT or HOST:PORT (kibitz[ray]). Default: KIBITZ_ON, or local."
On = Annotated[str | None, option("--on", "WHERE", ON_HELP, check=_on)]
SavedGame = Annotated[str | None, option("--game", "GAME", "The game. Default: the built-in one that the file names.")]
Seed = Annotated[int, number("--seed", "N", "Random seed: the same seed gives the same result.")]
Threads = Annotated[int | None, number("--threads", "N", "Cores to use; the result is the same. Default: all.")]
Deals = Annotated[int | None, number("--deals", "N", "Sample this many deals instead of counting all cards.")]
Solver = Annotated[str, option("--solver", "SOLVER", "See `kibitz solvers`.", complete.solvers)]
Iterations = Annotated[int | None, number("--iterations", "N", "Stop after this many iterations.")]
Until = Annotated[float | None, number("--until", "NASHCONV", "Stop once NashConv is at most this.")]
Seconds = Annotated[float | None, number("--seconds", "S", "Stop after this many more seconds; compiling is extra.")]
MaxInfosets = Annotated[
    str | None,
    option("--max-infosets", "N", "Poker: the finest percentile buckets with at most this many infosets, as 24M."),
]
CheckpointEvery = Annotated[
    float, number("--checkpoint-every", "S", "Seconds between saves; more if a save takes over a tenth of that.")
]
ProfileOut = Annotated[Path | None, option("--out", "DIR", "Save the profile here, such as leduc.profile.")]
Plot = Annotated[Path | None, option("--plot", "FILE", "Draw a picture of it: .png, .svg or .pdf.")]
Quiet = Annotated[bool, flag("--quiet", "Print nothing but errors.")]


def checked(option: str, value: Any) -> Any:
    """A number that was read from an option's text (500MB; 0,50,2), if it is within the option's range."""
    RANGES[option].check(option, value)
    return value


def counted(text: str) -> int:
    """A number such as 24M or 1.5G."""
    match = re.fullmatch(r"\s*(\d{1,12}(?:\.\d{1,6})?)\s*([kKmMgG]?)\s*", text)
    if match is None or float(match[1]) <= 0:
        raise SolverError(f"--max-infosets {text} should be a number of infosets, such as 24M")
    return int(float(match[1]) * {"": 1, "k": 10**3, "m": 10**6, "g": 10**9}[match[2].lower()])


def shown(value: float) -> str:
    """A number for a sentence: short, however long it is."""
    if isinstance(value, int) and abs(value) < 10**15:
        return f"{value}"
    try:
        return f"{float(value):.3g}"
    except OverflowError:
        return "of so many digits"
