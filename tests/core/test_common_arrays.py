"""Memory that processes of one machine fill together, and tables in it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pieces_of_tests as work
import pytest
from elsewhere import Elsewhere

from kibitz.cards import tables
from kibitz.core.common_arrays import ALIGNED, CommonArrays, NamedMemory, can_be_common, opened_memory
from kibitz.core.errors import GameError, SolverError
from kibitz.core.executor import executing

pytestmark = pytest.mark.skipif(not can_be_common(), reason="this system has no such memory")
LAYOUT = {"odd": ("|u1", (3,)), "x": ("<f8", (4, 5)), "none": ("<i4", (0, 2)), "y": ("<u2", (7,))}
WRITER = """
import json, sys
from kibitz.core.common_arrays import NamedMemory, opened_memory
arrays = opened_memory(NamedMemory(**json.loads(sys.argv[1])))
assert not any(array.any() for array in arrays.values())
for k, array in enumerate(arrays.values()):
    array[...] = k + 1
"""


def other_process(name: NamedMemory) -> None:
    environment = {**os.environ, "PYTHONPATH": str(Path(tables.__file__).parents[2])}
    subprocess.run([sys.executable, "-c", WRITER, json.dumps(name._asdict())], check=True, env=environment)


def test_what_another_process_writes_is_seen():
    common = CommonArrays(LAYOUT)
    other_process(common.name)
    common.close()
    for k, (name, (dtype, shape)) in enumerate(LAYOUT.items()):
        array = common.arrays[name]
        assert array.dtype == np.dtype(dtype) and array.shape == shape and (array == k + 1).all()
        assert not array.size or array.ctypes.data % ALIGNED == 0


def test_other_memory_is_not_opened():
    common, other = CommonArrays(LAYOUT), CommonArrays(LAYOUT)
    for name in (
        common.name._replace(token="0" * 32), common.name._replace(file=other.name.file),
        common.name._replace(file=0), common.name._replace(process=2**30),
    ):  # fmt: skip
        with pytest.raises(SolverError, match="cannot be opened here"):
            opened_memory(name)
    common.close()
    common.close()
    with pytest.raises(SolverError, match="cannot be opened here"):
        opened_memory(common.name)
    other.close()


def built(limit=1000, beside=True, every=1e9):
    """The rows of a table on an executor whose pieces are done beside this process, and what it was asked for."""
    executor = Elsewhere()
    executor.beside = beside
    with executing(executor):
        tables.build(work.rows_table(12, limit), tell=lambda *told: None, every=every)
    arrays = tables.whole(work.rows_table(12))
    return arrays["row"].tolist(), executor.calls


def test_a_table_that_nodes_write(tmp_path, monkeypatch):
    """In one go or in waves of what is done in `every` seconds: the rows of a table whose answers are sent."""
    expected = [[k + 1] * 10 for k in range(12)]
    monkeypatch.setattr(tables, "cores", lambda: 2)
    for how, calls in (
        ({"beside": False}, [("row_of", 12)]), ({}, [("written", 12)]),
        ({"every": 0.25}, [("written", 6), ("written", 6)]), ({"every": 0.0}, [("written", 1)] * 12),
    ):  # fmt: skip
        monkeypatch.setattr(tables, "home", lambda where=tmp_path / str(how): where)
        assert built(**how) == (expected, calls)


def test_a_table_that_was_begun_is_continued(tmp_path, monkeypatch):
    """Waves that are saved stay; the next run writes the rest, into memory with what was there."""
    monkeypatch.setattr(tables, "home", lambda: tmp_path)
    monkeypatch.setattr(tables, "cores", lambda: 2)
    with pytest.raises(GameError, match="8 is refused"):
        built(8, every=0.125)  # waves of three
    assert built(every=0.125)[1] == [("written", 3), ("written", 3)]
    assert built()[0] == [[k + 1] * 10 for k in range(12)]
