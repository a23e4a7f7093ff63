"""What holds for all tests of the web interface."""

from __future__ import annotations

import pytest

from kibitz.core import progress


@pytest.fixture(autouse=True)
def nothing_runs(tmp_path_factory, monkeypatch):
    """Work of other programs on this machine is not listed among the runs."""
    folder = tmp_path_factory.mktemp("running")
    monkeypatch.setattr(progress, "home", lambda: folder)
