"""The kernels of spots for a GPU, compiled as C++: blocks of one thread, or of threads that meet."""

from __future__ import annotations

from poker_form_on_cores import OnCores

from kibitz.poker.spots.engine_gpu import GpuShape

ALONE = GpuShape(group=1)
TOGETHER = GpuShape(block=64)


class SpotsOnCores(OnCores):
    """A queue for `GpuSpotCfr`. threads: 1 with ALONE, 64 with TOGETHER."""

    meeting = frozenset({"down", "last", "last_far", "up", "lower"})
    room = "extern __shared__ real room[];", "real* const room = (real*)shared_room;"
    flag = "-O2"
