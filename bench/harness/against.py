"""`--against DIR`: the same bench on this build and on that of another checkout, in turns.

Each side runs in a process of its own, on its own Python code, with its own bench harness (`one_build.py`): the two builds need to have
nothing in common but the names of the benches. References are not measured: a result is this build by the other one, paired.
"""

import json
import os
import subprocess
import sys
from argparse import Namespace
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from harness.noise import Noise
from harness.results import Result
from harness.sample import Sample
from harness.session import TRIES, Rounds, Session, compared
from harness.statistics import Goal
from windtunnel.engine.find import VARIABLE
from windtunnel.errors import UserError
from windtunnel.host.states import Where

CHECKOUT = Path(__file__).resolve().parents[2]
COMPARABLE = ("l2fwd", "pcap_echo", "six_stages", "generator", "lookups", "swx", "sharing_slices")
MOST_WORSE = 0.02
"""This build may be worse by that share."""
PATIENCE_S = 5.0
COMMON = ("pairs", "seconds", "cpu", "together", "memory", "hugepages", "against")


class OneBuild:
    """The process that measures one checkout. Context manager; methods raise UserError where it has ended or gives up."""

    def __init__(self, checkout: Path, bench: str, options: Namespace, memory: str, runtime: Path):
        """`runtime`: a directory for EAL's runtime files, so that the programs of both builds can be there at once."""
        self.checkout = checkout
        of_bench = {name: value for name, value in vars(options).items() if name not in COMMON and value is not None}
        more = [part for name, value in of_bench.items() for part in (f"--{name.replace('_', '-')}", str(value))]
        common = ["--pairs", "1", "--seconds", str(options.seconds), "--cpu", str(options.cpu), "--memory", memory]
        environment = {name: value for name, value in os.environ.items() if name != VARIABLE}
        environment["PYTHONPATH"] = f"{checkout / 'bench'}{os.pathsep}{checkout / 'src'}"
        runtime.mkdir(parents=True, exist_ok=True)
        environment["RUNTIME_DIRECTORY"] = str(runtime)
        driver = Path(__file__).with_name("one_build.py")
        self._process = subprocess.Popen(
            [python_of(checkout), "-P", driver, bench, *common, *more],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            self._process.terminate()
            self._process.wait()

    def line(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        text = self._process.stdout.readline()
        if not text:
            raise UserError(f"{self.checkout}: the bench ended with {self._process.wait()}")
        return json.loads(text)

    def next(self) -> dict[str, Any]:
        self._request("next")
        return self.line()

    def samples(self) -> list[tuple[str, Sample]]:
        """Its contestants' samples, by name."""
        why = ""
        for _ in range(TRIES):
            self._request("sample")
            given = self.line()
            if "samples" in given:
                return [
                    (name, Sample(value, Noise(lost, None), where=Where(*where)))
                    for name, (value, lost, *where) in given["samples"].items()
                ]
            why = given["failed"]
        raise UserError(f"{self.checkout}: {TRIES} runs in a row gave no sample; the last one: {why}")

    def _request(self, what: str) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(f"{what}\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            pass  # the next line says that it has ended


def python_of(checkout: Path) -> Path:
    """The checkout's own Python where it has one, else this one."""
    own = checkout / ".venv" / "bin" / "python"
    return own if own.exists() else Path(sys.executable)


def compare(session: Session, benches: Sequence[str], other: Path) -> Iterator[Result]:
    """Every measurement of the COMPARABLE ones of the benches, on both builds. Raises UserError."""
    if not (other / "bench").is_dir():
        raise UserError(f"{other}: not a checkout of windtunnel", remedy="--against DIR, with its engine built")
    if not set(benches) & set(COMPARABLE):
        raise UserError(
            f"{', '.join(benches)}: --against is not for this bench", remedy=f"one of {', '.join(COMPARABLE)}"
        )
    for bench in [name for name in benches if name in COMPARABLE]:
        with both(session, bench, other) as (ours, theirs):
            announced, likewise = ours.line(), theirs.line()
            while "end" not in announced and "end" not in likewise:
                rounds, names = _measured(session, ours, theirs, announced)
                before, announced, likewise = announced, ours.next(), theirs.next()
                labels = announced["compared"] if len(names) == 1 and announced["compared"] else names
                for name, label in zip(names, labels, strict=False):
                    yield _result(session, f"{bench}: {label}, this build by {other.name}", name, rounds, before)


@contextmanager
def both(session: Session, bench: str, other: Path) -> Iterator[tuple[OneBuild, OneBuild]]:
    def one(checkout: Path, side: str) -> OneBuild:
        return OneBuild(checkout, bench, session.options, session.memory, session.directory / side)

    with one(CHECKOUT, "this") as ours, one(other, "other") as theirs:
        yield ours, theirs


def _measured(
    session: Session, ours: OneBuild, theirs: OneBuild, announced: dict[str, Any]
) -> tuple[Rounds, list[str]]:
    """The rounds of one measurement, and the names of its contestants."""
    names: list[str] = []

    def take_round() -> dict[str, Sample]:
        mine, its = ours.samples(), theirs.samples()
        names[:] = [name for name, _ in mine]
        return {
            **{f"{name}, this": sample for name, sample in mine},
            **{f"{name}, other": sample for name, (_, sample) in zip(names, its, strict=True)},
        }

    return session.rounds(take_round, announced["unit"], announced["scale"]), names


def _result(session: Session, label: str, name: str, rounds: Rounds, announced: dict[str, Any]) -> Result:
    unit, scale = announced["unit"], announced["scale"]
    more_is_better = unit.endswith("pps") or unit == "%"
    goal = Goal(1 - MOST_WORSE, "at least") if more_is_better else Goal(1 + MOST_WORSE, "at most")
    return compared(session, label, rounds, f"{name}, this", f"{name}, other", unit, scale, goal)
