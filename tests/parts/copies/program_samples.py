"""What a program copied, made up, and the program of the tests that copies what it is told (copies/tests/copying.c)."""

import json
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import forked

from windtunnel.parts.copies.costs import SIZES, Measured
from windtunnel.parts.copies.program_copies import ProgramCopies, SizeCounts, ThreadCounts, read_copies
from windtunnel.parts.copies.program_page import GROUPS, Page
from windtunnel.parts.copies.program_run import Ended, find_library, run_program
from windtunnel.parts.copies.query import CopierHead, CopyCosts

BUILT = Path(__file__).parents[3] / "build/copies"
COPYING = str(BUILT / "tests/copying")
TSC_HZ = 2_000_000_000
HEAD = {"type": "copier", "engine": "dma", "kind": "core", "device": "dma_skeleton0", "cpu": 0, "tsc_hz": TSC_HZ}


def size(number: int, copies: int, ns: float, timed: int = 10, **counters: int) -> SizeCounts:
    """Copies of 2^(number - 1) bytes, of which so many were timed, in turns, and took so long each."""
    of_group = [timed // GROUPS + (group < timed % GROUPS) for group in range(GROUPS)]
    least = 1 << number - 1 if number else 0
    none = dict.fromkeys(("source_on_line", "destination_on_line", "source_on_page", "destination_on_page"), 0)
    counts = {"bytes": copies * least, "overlapping": 0, "interrupted": 0} | none | counters
    return SizeCounts(number=number, copies=copies, timed=tuple((n, n * ns) for n in of_group), **counts)


def thread(*sizes: SizeCounts, **about: Any) -> ThreadCounts:
    known = {"process": 7, "thread": 8, "program": "server", "name": "worker", "cpu_ns": 10**9, "own_ns": 0.0}
    return ThreadCounts(**(known | about), calls=(sum(each.copies for each in sizes), 0, 0), sizes=sizes)


def ended(**about: Any) -> Ended:
    known = {
        "returncode": 0,
        "cpu_s": 1.0,
        "still_running": False,
        "page_faults": 9,
        "asked_to_end": False,
        "interrupted": False,
    }
    return Ended(**(known | about))


def program(*threads: ThreadCounts, how: Ended | None = None, **about: Any) -> ProgramCopies:
    known = {"command": ("/opt/server", "-t", "4"), "processes": 1, "rows_missing": 0, "early": 0}
    return ProgramCopies(**(known | about), ended=how or ended(), threads=threads)


def measured(caller: float, whole: float, **head: Any) -> Measured:
    """A copier whose caller pays so many ns for each copy, and which takes so many for a byte."""
    ticks = TSC_HZ / 1e9
    costs = [
        CopyCosts(
            type="costs",
            bytes=bytes_,
            hot=hot,
            cpu_cycles=bytes_ * ticks,
            caller_cycles=caller * ticks * (10 if hot else 1),
            copier_cycles=whole * bytes_ * ticks * (10 if hot else 1),
        )
        for bytes_ in SIZES
        for hot in (False, True)
    ]
    about = CopierHead.model_validate(HEAD | {"trip_ns": None} | head)
    return Measured(copier=about, depth=1, batch=1, costs=costs, trip_ns_after=None)


def counted(command: Sequence[str], seconds: float | None = None) -> ProgramCopies:
    """What a program copies, by the library. It is run in this process's child."""
    with Page() as page:
        how = run_program(command, find_library(command[0]), page, seconds)
        return read_copies(page, command, how, TSC_HZ)


def engine_of(directory: Path) -> dict[str, str]:
    """What names an engine with one copier, whose costs are known at once: measuring takes some ten seconds on a busy host."""
    copier = {"name": "cpu_nt", "help": "", "most_depth": 1, "options": []}
    no_option = dict.fromkeys(("thread_option", "inner_option", "profile_option"))
    of_copier = measured(1000.0, 0.05, engine="cpu_nt", cpu=None)
    end = json.dumps({"type": "end", "trip_ns": None})
    lines = [of_copier.copier.model_dump_json(), *(cost.model_dump_json() for cost in of_copier.costs), end]
    (directory / "engine").mkdir()
    (directory / "copies").symlink_to(BUILT)
    (directory / "copiers").write_text(json.dumps([copier | no_option]))
    (directory / "costs").write_text("\n".join(lines) + "\n")
    engine = directory / "engine/windtunnel-engine"
    engine.write_text(f'#!/bin/sh\n[ "$1" = --copiers ] && exec cat {directory}/copiers\nexec cat {directory}/costs\n')
    engine.chmod(0o755)
    return {"WINDTUNNEL_ENGINE": str(engine)}


def copies_of(*arguments: object, cwd: Path, **environment: str) -> "subprocess.CompletedProcess[str]":
    return forked.run(["copies", "of", *arguments], text=True, timeout=120, cwd=cwd, env=os.environ | environment)


def document(done: "subprocess.CompletedProcess[str]") -> dict[str, Any]:
    assert done.stdout, done.stderr
    values: dict[str, Any] = json.loads(done.stdout)
    return values
