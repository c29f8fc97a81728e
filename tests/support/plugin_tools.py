"""Plug-ins, built."""

import subprocess

from scenario_tools import SHIPPED

ROOT = SHIPPED.parent
BROKEN = ROOT / "engine" / "tests" / "plugins"


def built(directory, name: str):
    """One of the engine's own broken plug-ins."""
    library = directory / f"lib{name}.so"
    include = ["-I", str(ROOT / "include"), "-Wno-override-init"]
    subprocess.run(["cc", "-std=c11", "-shared", "-fPIC", *include, "-o", library, BROKEN / f"{name}.c"], check=True)
    return library
