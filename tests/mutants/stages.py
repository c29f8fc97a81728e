"""What a mutant has to survive, the cheapest first: each stage is a command, and the first one that fails kills it."""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from mutant import Mutant

IN_MEMORY = Path("/dev/shm")
FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+)", re.MULTILINE)
READ_ONLY = 'mount --bind -o ro "$0" "$0" && exec "$@"'
CASE_FAILED = re.compile(r"^\[  FAILED  \] ([\w/.]+)", re.MULTILINE)
MARK = "WINDTUNNEL_MUTANT"
NO_TESTS = 5
"""pytest's exit code if it selects none of a file."""
SOURCES = ("src", "sharing/src")
UNIT = ("tests/unit", "tests/parts", "sharing/tests/unit")
RUNS = ("tests/e2e", "tests/hostile", "sharing/tests/e2e", "sharing/tests/hostile")
PARALLEL = ("-n", "2")
MESON_TEST = ("meson", "test", "-C", "build", "--maxfail", "1")
BUILD = "build"
"""The stage that tells whether a mutant of the engine is one: it compiles, and the engine is another one than without it."""


@dataclass(frozen=True)
class Stage:
    name: str
    command: tuple[str, ...]
    limited_like: str | None
    """The stage whose time without a mutant bounds this one's; None: a header may have everything built anew."""


@dataclass(frozen=True)
class Ended:
    passed: bool
    by: str
    """The test that failed first, or what else was wrong."""
    seconds: float
    output: str


def stages_of(mutant: Mutant, checkout: Path, quick: bool = False) -> list[Stage]:
    if mutant.language == "c++":
        return [
            Stage(BUILD, ("ninja", "-C", "build", "engine/windtunnel-engine"), None),
            *common_stages("c++", quick),
        ]
    file = Path(mutant.file)
    sources = next(directory for directory in SOURCES if file.is_relative_to(directory))
    module = ".".join(file.relative_to(sources).with_suffix("").parts).removesuffix(".__init__")
    mirror = _mirror(checkout, mutant.file)
    named = {*_named(checkout / mirror, file.stem), *_named(checkout / mirror, file.parent.name)}
    return [
        Stage("import", (sys.executable, "-c", f"import {module}"), "unit"),
        *([Stage("named", _pytest(*sorted(named), "-m", "not slow"), "unit")] if named else []),
        Stage("mirror", _pytest(mirror, "-m", "not slow"), "unit"),
        *common_stages("python", quick),
    ]


def common_stages(language: str, quick: bool = False) -> list[Stage]:
    """Those that every mutant has, and that are tried without one first: ./test, without the few tests that bear no other beside them."""
    slow = Stage("slow", _pytest(*UNIT, "-m", "slow", *PARALLEL), "slow")
    runs = Stage("runs", _pytest(*RUNS, *PARALLEL), "runs")
    if language == "c++":
        suites = Stage("suites", (*MESON_TEST, "--no-suite", "fuzz"), None)
        fuzzers = Stage("fuzzers", (*MESON_TEST, "--suite", "fuzz"), None)
        stages = [suites, fuzzers, runs, slow]
    else:
        stages = [Stage("unit", _pytest(*UNIT, "-m", "not slow", *PARALLEL), "unit"), slow, runs]
    return stages[:1] if quick else stages


def _pytest(*arguments: str) -> tuple[str, ...]:
    return (sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *arguments)


def _mirror(checkout: Path, file: str) -> str:
    """The directory that has the tests of this file's part or package, or of a package around it."""
    if file.startswith("sharing/"):
        return "sharing/tests/unit"
    package = Path(file).relative_to("src/windtunnel").parent
    mirrors = (Path("tests", root, each) for each in [package, *package.parents] for root in ("unit", ""))
    return str(next(each for each in mirrors if (checkout / each).is_dir()))


def run_stage(stage: Stage, checkout: Path, limit_s: float | None, origin: Path | None = None) -> Ended:
    """In the checkout, with the packages of this Python but the checkout's own sources. Whatever it has started is ended with it. As root
    it sees `origin` read-only: a mutant may remove the wrong directory."""
    memory = IN_MEMORY if os.access(IN_MEMORY, os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="wt-mutant-", dir=memory, ignore_cleanup_errors=True) as temporary:
        command = [*stage.command, *(["--basetemp", f"{temporary}/files"] if "pytest" in stage.command else [])]
        if origin and can_forbid_writes():
            command = ["unshare", "--mount", "sh", "-c", READ_ONLY, str(origin), *command]
        output = Path(temporary) / "output"
        began = time.monotonic()
        code = _code(command, checkout, output, limit_s)
        seconds, said = time.monotonic() - began, output.read_text(errors="replace")
    if code is None:
        return Ended(False, f"time limit of {limit_s:.0f} s", seconds, said)
    passed = code == 0 or ("pytest" in stage.command and code == NO_TESTS)
    return Ended(passed, "" if passed else _failed(stage, checkout, said), seconds, said)


def _code(command: list[str], checkout: Path, output: Path, limit_s: float | None) -> int | None:
    """The exit code; None: it took too long."""
    sources = os.pathsep.join(str(checkout / directory) for directory in SOURCES)
    environment = os.environ | {"PYTHONPATH": sources, MARK: str(checkout)}
    environment.pop("WINDTUNNEL_ENGINE", None)
    with output.open("w") as said:
        process = subprocess.Popen(
            command, cwd=checkout, env=environment, stdin=subprocess.DEVNULL, stdout=said, stderr=said
        )
        try:
            return process.wait(limit_s)
        except subprocess.TimeoutExpired:
            return None
        finally:
            end_marked(checkout)
            process.wait()


def _named(directory: Path, name: str) -> Iterator[str]:
    """The files of tests below it that have the name of a module, or of a package."""
    return map(str, directory.rglob(f"test_{name}*.py"))


@cache
def can_forbid_writes() -> bool:
    tried = ["unshare", "--mount", "true"]
    return os.geteuid() == 0 and subprocess.run(tried, check=False, stderr=subprocess.DEVNULL).returncode == 0


def _failed(stage: Stage, checkout: Path, said: str) -> str:
    if stage.command[: len(MESON_TEST)] == MESON_TEST:
        log = checkout / "build" / "meson-logs" / "testlog.json"
        tests = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
        for test in tests:
            if test["result"] not in ("OK", "SKIP"):
                case = CASE_FAILED.search(test.get("stdout", ""))
                return f"{test['name']} {case[1] if case else test['result'].lower()}"
        return "the tests do not compile"
    failed = FAILED.search(said)
    last = said.split("\n")[-2:-1] or ["nothing was said"]
    return failed[1] if failed else " ".join(last[0].split())


def end_marked(checkout: Path) -> None:
    """Ends all processes of stages in this checkout: a mutant's engine may not know when to stop."""
    while marked := list(_marked(f"{MARK}={checkout}".encode())):
        for process in marked:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        time.sleep(0.01)


def _marked(mark: bytes) -> Iterator[int]:
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if mark in (process / "environ").read_bytes().split(b"\0"):
                yield int(process.name)
