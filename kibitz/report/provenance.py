"""What figures were measured on: machine, system and versions."""

from __future__ import annotations

import os
import platform
import time
from importlib import metadata
from pathlib import Path


def machine() -> dict[str, str]:
    """What the figures were measured on."""
    names = ("numpy", "numba", "scipy")
    model = ""
    if Path("/proc/cpuinfo").exists():
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        model = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), "")
    return {
        "processor": model or platform.processor() or platform.machine(),
        "architecture": platform.machine(),
        "cores": str(os.cpu_count()),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "kibitz": metadata.version("kibitz"),
        **{name: metadata.version(name) for name in names},
        "date": time.strftime("%Y-%m-%d"),
    }
