"""How many examples a property is tried on: `make test-all` tries all, `make test` a quarter of them."""

from __future__ import annotations

import os

ALL = "KIBITZ_ALL_EXAMPLES"  # set by `make test-all`
LEAST = 15


def examples(number: int) -> int:
    return number if os.environ.get(ALL) else max(LEAST, number // 4)
