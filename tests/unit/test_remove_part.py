"""setup/remove-part in a small checkout, with fakes in place of the build and of what writes generated files."""

import shutil
import subprocess
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[2]
pytestmark = pytest.mark.slow
FILES = {
    ".gitignore": "/.venv\n/log\n__pycache__/\n",
    "setup/lib.sh": 'build_engine() { echo "build $1" >>log; }\n',
    "src/windtunnel/part_registry.py": 'PARTS = [\n    "sums",\n    "means",\n    "maxima",\n]\n',
    "src/windtunnel/parts/sums/__init__.py": "",
    "src/windtunnel/parts/sums/catalogue.py": 'SCENARIOS = {"Sums": ("sum",)}\nSTUDIES = {}\n'
    'FILES = ("docs/sums.md", "bench/sums.py")\nFOLDERS = ("sums",)\n',
    "meson.build": "subdir('sums')\nsubdir('engine')\n",
    "sums/meson.build": "",
    "src/windtunnel/parts/means/plan.py": "from windtunnel.parts.sums.plan import Sum\n",
    "src/windtunnel/parts/maxima/plan.py": '"""As windtunnel.parts.sums, but with other numbers."""\n',
    "engine/parts/meson.build": "parts = [\n  'sums',\n  'maxima',\n]\n",
    "engine/parts/sums/sums.cc": "",
    "engine/parts/maxima/maxima.cc": '#include "parts/maxima/maxima.h"\n',
    "tests/parts/sums/test_sums.py": "",
    "tests/parts/means/test_means.py": "",
    "scenarios/sum.toml": "",
    "scenarios/sum.sh": "",
    "scenarios/summer.toml": "",
    "mkdocs.yml": "nav:\n  - Home: index.md\n  - Sums: sums.md\n",
    "pyproject.toml": 'sums = "windtunnel.parts.sums:app [sums]"\nmaxima = "windtunnel.parts.maxima:app"\n'
    'dependencies = [\n  # parts/sums adds with it\n  "adder>=1",\n  "other>=2",\n]\n'
    'windtunnel = ["a/*.html", "parts/sums/*.toml", "b/*"]\n# for sums\nsums = ["adder>=1"]\ntest = ["windtunnel[maxima,sums]"]\n',
    "docs/sums.md": "# Sums\n",
    "bench/sums.py": "",
    "bench/README.md": "| `sums.py` |\n| `other.py`, sums.py |\n",
    "docs/index.md": "# Home\n\nSee [the `[sum]`](sums.md#sums), `SUMS[name](sums)`, [here](#home) and [there](#there).\n\n"
    "```md\n[not a link](sums.md)\n```\n\n| file |\n|---|\n| `scenarios/sum.toml` |\n| `scenarios/summer.toml` |\n| [of all](sums.md) |\n",
}
"""`means` uses `sums`, and `maxima` only speaks of it."""
AS_SOMEONE = ("-c", "user.name=test", "-c", "user.email=test@localhost", "-c", "commit.gpgsign=false")


@pytest.fixture
def checkout(tmp_path):
    for name, text in FILES.items():
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    for name in ("setup/remove-part", "tests/support/markdown_links.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(CHECKOUT / name, tmp_path / name)
    for command in (["init", "--quiet"], ["add", "."], ["commit", "--quiet", "--message", "all"]):
        subprocess.run(["git", *AS_SOMEONE, *command], cwd=tmp_path, check=True)
    python = tmp_path / ".venv/bin/python"
    python.parent.mkdir(parents=True)
    python.write_text('#!/bin/sh\necho "$@ in $PYTHONPATH" >>log\n')
    python.chmod(0o755)
    return tmp_path


def remove(checkout: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [checkout / "setup/remove-part", *arguments]
    return subprocess.run(command, cwd="/", capture_output=True, text=True, check=False)


def test_a_part_is_taken_out_with_all_that_it_has_and_with_those_that_use_it(checkout):
    done = remove(checkout, "sums")
    assert (done.returncode, done.stdout, done.stderr) == (0, "taking out: sums, means\n", "")
    gone = [name for name in FILES if not (checkout / name).exists()]
    assert gone == [
        name
        for name in FILES
        if "sums/" in name or "/sums" in name or "/means" in name or name.startswith("scenarios/sum.")
    ]
    assert not list(checkout.glob("*/parts/sums")) and not list(checkout.glob("*/*/parts/means"))
    left = {name: (checkout / name).read_text() for name in FILES if name not in gone}
    changed = {name: text for name, text in left.items() if text != FILES[name]}
    assert changed == {
        "src/windtunnel/part_registry.py": 'PARTS = [\n    "maxima",\n]\n',
        "meson.build": "subdir('engine')\n",
        "engine/parts/meson.build": "parts = [\n  'maxima',\n]\n",
        "mkdocs.yml": "nav:\n  - Home: index.md\n",
        "pyproject.toml": 'maxima = "windtunnel.parts.maxima:app"\ndependencies = [\n  "other>=2",\n]\n'
        'windtunnel = ["a/*.html", "b/*"]\n'
        'test = ["windtunnel[maxima]"]\n',
        "bench/README.md": "| `other.py`, sums.py |\n",
        "docs/index.md": "# Home\n\nSee the `[sum]`, `SUMS[name](sums)`, [here](#home) and there.\n\n"
        "```md\n[not a link](sums.md)\n```\n\n| file |\n|---|\n| `scenarios/summer.toml` |\n",
    }


def test_the_engine_is_built_from_the_new_schemas_and_says_what_wires_it_has(checkout):
    assert remove(checkout, "maxima").stdout == "taking out: maxima\n"
    sources = f" in {checkout}/src:{checkout}/sharing/src"
    calls = (checkout / "log").read_text().splitlines()
    assert [call.removesuffix(sources) for call in calls] == [
        "setup.py -q egg_info",
        "-m windtunnel.schemas",
        "build engine/windtunnel-engine",
        "-m windtunnel.schemas",
        "-m windtunnel.cli.command_line_page",
        "tests/net/net.py keep",
    ]
    assert [call.endswith(sources) for call in calls] == [True, True, False, True, True, True]


@pytest.mark.parametrize("what", ["changed", "new"])
def test_nothing_is_lost_that_is_not_committed(checkout, what):
    (checkout / {"changed": "mkdocs.yml", "new": "engine/parts/sums/new.cc"}[what]).write_text("mine")
    done = remove(checkout, "sums")
    assert done.returncode == 2 and "error: something in this checkout is not committed" in done.stderr
    assert (checkout / "engine/parts/sums/sums.cc").exists()


def test_an_unknown_part_is_refused(checkout):
    done = remove(checkout, "minima")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "error: there is no part minima\n  parts: maxima, means, sums\n"


def test_without_an_environment_nothing_is_written_again_so_nothing_is_deleted(checkout):
    shutil.rmtree(checkout / ".venv")
    done = remove(checkout, "sums")
    assert done.returncode == 2 and "error: there is no Python environment in .venv" in done.stderr


@pytest.mark.parametrize(("arguments", "code"), [([], 2), (["sums", "means"], 2), (["--help"], 0), (["--all"], 2)])
def test_it_says_how_it_is_called(checkout, arguments, code):
    done = remove(checkout, *arguments)
    assert done.returncode == code and done.stdout.startswith("setup/remove-part NAME: ")
