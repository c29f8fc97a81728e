"""Each bench finds what it imports. None runs in the suite, so that nothing else would notice what has moved."""

import subprocess
import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).parents[3] / "bench"
IMPORTS = """
import sys
from importlib import import_module
sys.path.insert(0, sys.argv[1])
for name in sys.argv[2:]:
    import_module(name)
"""


@pytest.mark.slow
def test_every_bench_can_be_imported():
    names = sorted(file.stem for file in BENCH.glob("*.py"))
    assert names
    ended = subprocess.run([sys.executable, "-c", IMPORTS, BENCH, *names], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
