"""From the command line to the table: every bench in every memory mode."""

import signal
import subprocess
import sys
from argparse import ArgumentParser
from collections.abc import Callable, Sequence

from pydantic_core import to_jsonable_python

from harness import hugepages
from harness.figures import DIRECTORY, Figure, console, keep, show
from harness.options import options
from harness.session import Session
from windtunnel.errors import UserError
from windtunnel.host import facts

Bench = Callable[[Session], list[Figure]]


def main(description: str, *benches: Bench, more: Callable[[ArgumentParser], None] | None = None) -> None:
    """`more` adds options. Exit codes: 0 no goal was missed, 1 one was, 2 a bench could not be run."""
    given = options(description, more)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # hugepages are given back all the same
    try:
        with hugepages.reserved(given.hugepages):
            figures = _measure(benches, given)
    except UserError as error:
        console().print(f"[red]{error.message}[/]" + (f"\n{error.remedy}" if error.remedy else ""), markup=True)
        sys.exit(2)
    show(figures)
    console().print(f"samples: {keep(figures, to_jsonable_python(facts.collect()), commit())}")
    sys.exit(any(figure.verdict is not None and figure.verdict.met is False for figure in figures))


def _measure(benches: Sequence[Bench], given) -> list[Figure]:
    figures: list[Figure] = []
    for memory in (modes := hugepages.modes(given.memory)):
        for bench in benches:
            with Session(given, memory) as session:
                figures += bench(session)
    if given.memory == "both" and "hugepages" not in modes:
        console().print(
            "no hugepages are free: measured without; `--hugepages 256` reserves some for the time of a bench"
        )
    return figures


def commit() -> str | None:
    """Of the checkout, "+" where it has changes; None outside a git checkout."""
    try:
        commit = subprocess.run(
            ["git", "describe", "--always", "--dirty=+"], cwd=DIRECTORY, capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return commit.stdout.strip()
