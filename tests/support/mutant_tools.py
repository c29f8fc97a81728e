"""What tests of the mutants share: the path to them, and a small checkout."""

import subprocess
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "mutants"))

from cpp_operators import cpp_mutations  # noqa: F401
from draw import AREAS as DRAWN  # noqa: F401
from draw import draw  # noqa: F401
from mutant import Mutant, mutant_of
from reasons import Reasons  # noqa: F401
from results import Results, row_of  # noqa: F401
from run import CHECKOUT, Trial  # noqa: F401
from scratch import Scratch  # noqa: F401
from stages import Stage, can_forbid_writes, run_stage, stages_of  # noqa: F401

FILES = {
    "src/windtunnel/__init__.py": "",
    "src/windtunnel/sizes/__init__.py": "",
    "src/windtunnel/sizes/limits.py": "MOST = 64\n\n\ndef fits(size):\n    return size <= MOST\n",
    "tests/unit/sizes/test_limits.py": (
        "from windtunnel.sizes.limits import fits\n\n\ndef test_fits():\n    assert fits(64) and not fits(65)\n"
    ),
    "tests/parts/units/test_units.py": "def test_units():\n    assert True\n",
    "sharing/tests/unit/test_shares.py": "def test_shares():\n    assert True\n",
    "setup/lib.sh": "build_engine() { mkdir -p build/engine && echo engine >build/engine/windtunnel-engine; }\n",
    ".gitignore": "build/\n__pycache__/\n",
}
LIMITS = "src/windtunnel/sizes/limits.py"


def make_checkout(directory: Path) -> Path:
    for name, text in FILES.items():
        file = directory / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    as_someone = ("-c", "user.name=test", "-c", "user.email=test@localhost", "-c", "commit.gpgsign=false")
    for command in (["init", "--quiet"], ["add", "."], ["commit", "--quiet", "--message", "all"]):
        subprocess.run(["git", *as_someone, *command], cwd=directory, check=True)
    return directory


def status_of(checkout: Path) -> str:
    return subprocess.check_output(["git", "status", "--porcelain", "--ignored"], cwd=checkout, text=True)


def limits_mutant(old: str, new: str) -> Mutant:
    assert old in FILES[LIMITS]
    return mutant_of("python", LIMITS, "by hand", FILES[LIMITS], FILES[LIMITS].replace(old, new))
