"""From the command line to the table: every bench in every memory mode."""

import signal
import subprocess
import sys
from argparse import ArgumentParser
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from pydantic_core import to_jsonable_python

from harness import against, hugepages
from harness.options import options
from harness.results import DIRECTORY, Result, console, keep, show
from harness.session import Session
from windtunnel.errors import UserError
from windtunnel.host import facts

Bench = Callable[[Session], Iterable[Result]]
"""Results that it yields one by one are shown even if it cannot go on."""


def main(description: str, *benches: Bench, more: Callable[[ArgumentParser], None] | None = None) -> None:
    """`more` adds options. It ends as `finish` does."""
    given = options(description, more)
    finish(_in_hugepages(benches, given))


def finish(measured: Iterable[Result]) -> None:
    """Shows and keeps what is measured, after Ctrl-C and where a bench could not go on, too. Exit codes: 0 no goal was missed, 1 one was,
    2 a bench could not be run."""
    signal.signal(signal.SIGTERM, _end)
    results: list[Result] = []
    stopped: UserError | None = None
    try:
        results.extend(measured)
    except UserError as error:
        stopped = error
    finally:
        if results:
            show(results)
            console().print(f"samples: {keep(results, to_jsonable_python(facts.collect()), commit())}")
    if stopped:
        console().print(f"[red]{stopped.message}[/]" + (f"\n{stopped.remedy}" if stopped.remedy else ""), markup=True)
        sys.exit(2)
    sys.exit(any(result.verdict is not None and result.verdict.met is False for result in results))


def _in_hugepages(benches: Sequence[Bench], given) -> Iterable[Result]:
    with hugepages.reserved(given.hugepages):
        yield from _measured(benches, given)


def _measured(benches: Sequence[Bench], given) -> Iterable[Result]:
    for memory in (modes := hugepages.modes(given.memory)):
        if given.against:
            with Session(given, memory) as session:
                yield from against.compare(session, [_name(bench) for bench in benches], given.against.resolve())
            continue
        for bench in benches:
            with Session(given, memory) as session:
                yield from bench(session)
    if given.memory == "both" and "hugepages" not in modes:
        console().print(
            "no hugepages are free: measured without; `--hugepages 256` reserves some for the time of a bench"
        )


def _end(number: int, _frame: object) -> None:
    """As Ctrl-C ends a bench: hugepages are given back, programs that it started are ended. A second signal does not cut that short."""
    signal.signal(number, signal.SIG_IGN)
    sys.exit(128 + number)


def _name(bench: Bench) -> str:
    """Of the file that the bench is in, also where that is the one that was started."""
    return Path(sys.argv[0]).stem if bench.__module__ == "__main__" else bench.__module__


def commit() -> str | None:
    """Of the checkout, "+" where it has changes; None outside a git checkout."""
    try:
        commit = subprocess.run(
            ["git", "describe", "--always", "--dirty=+"], cwd=DIRECTORY, capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return commit.stdout.strip()
