"""Does a diagnosis find what was planted?

Faults of drawn kind and strength (`harness/faults.py`) in shipped scenarios, healthy cases, and pairs of faults. A case is a pair of runs
that alternate window by window, with the fault and without it: the fault counts if the time of a message grows by 5%, else the case
is healthy. Then the planted run runs alone and is diagnosed, and the remedy of the first cause is run in turns with it. Another seed has other
cases: causes were tuned on seed 1 alone.

`--folder` has faults of others in place of the drawn ones: scenarios, their twins, and what is right (`harness/fault_folder.py`). There the
remedy of a cause that is right brings what the twin does.

The cases are in `--into`: what is there is not run again, but diagnosed again. So `--cases 10`, `--cases 20` and so on take as long
as ten cases each. `--record` diagnoses nothing, so that nobody sees what is held out before it is scored. `--probe` diagnoses experiments in
place of plain runs, 40 s each; they are kept apart.

    bench/ground_truth.py --memory no-huge --seed 1 --cases 60 --into /tmp/truth
"""

import json
import math
import shutil
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from random import Random
from statistics import median
from types import ModuleType
from typing import get_args

from harness.fault_folder import read_folder
from harness.faults import Fault, draw
from harness.main import main
from harness.options import positive
from harness.other_rules import MEANS, TOOLS, busiest, contention, pipetunes
from harness.results import Result
from harness.session import Session
from harness.statistics import Goal, Spread, interval, judge

from windtunnel.engine.interrupts import Interrupts
from windtunnel.errors import UserError
from windtunnel.host import facts
from windtunnel.measure.execute import execute
from windtunnel.measure.executor import in_turns
from windtunnel.parts.diagnose.conduct import EXPERIMENT, execute_experiment
from windtunnel.parts.diagnose.confidence import Evidence, evidence_of
from windtunnel.parts.diagnose.diagnose import diagnose
from windtunnel.parts.diagnose.model import Cause, Diagnosis
from windtunnel.runs import Run
from windtunnel.runs import load as read
from windtunnel.runs.metrics import measured, seconds
from windtunnel.runs.variants import messages
from windtunnel.scenario import RunSpec, here, load, resolve

COUNTS = 0.05
"""By which the time of a message grows with a fault that counts, and the gain that a diagnosis must promise to call a run faulty."""
COMPARED = {"duration": "800ms", "warmup": "150ms", "window": "50ms", "validity.settle": "0s"}
DIAGNOSED = {**COMPARED, "duration": "1500ms"}
PROBABILITY = {"high": 0.9, "medium": 0.6, "low": 0.3}
"""What a confidence without a chance is taken for in the Brier score."""
NATURAL = ("handler", "tables", "generator", "payload")
"""Causes that say where the time goes, which it does in a healthy run, too."""
LIMITS = ("offered load", "host")
"""What limits, where no cause is wanted."""
Z = 1.959964
CASE, RUN = "case.json", "run"
TRIES = 4


@dataclass(frozen=True)
class Truth:
    """What is known of a case without its diagnosis."""

    slower: float | None
    """By how much the time of a message grows, as a share; None: not compared, as nothing was planted."""
    low: float | None
    remedies: Mapping[str, float]
    """Words of --set -> what they brought, percent of the rate."""

    @property
    def counts(self) -> bool:
        return self.slower is not None and self.low is not None and self.slower >= COUNTS and self.low > 0


@dataclass(frozen=True)
class Case:
    fault: Fault
    truth: Truth
    run: Run
    found: Diagnosis

    @property
    def says(self) -> str:
        """What the diagnosis says first."""
        return self.found.limit.kind if self.found.limit.kind in LIMITS or not self.found.causes else self.first.code

    @property
    def first(self) -> Cause:
        return self.found.causes[0]

    @property
    def is_right(self) -> bool:
        """Of a fault that counts. Causes that are taken together are right if one of them is."""
        parts = self.first.parts if self.found.causes and self.says == self.first.code else []
        return any(code in self.fault.right for code in (self.says, *parts))

    @property
    def is_called_faulty(self) -> bool:
        """It promises a gain by something that is at fault, and is not unsure of it."""
        if not self.found.causes or self.first.code in NATURAL or self.first.confidence == "low":
            return False
        return self.first.gain is None or self.first.gain.middle >= 100 * COUNTS

    @property
    def brought(self) -> float | None:
        """By the remedy of the first cause; None: it was not run."""
        return self.truth.remedies.get(" ".join(self.first.sets)) if self.found.causes else None

    @property
    def chance(self) -> float:
        """That the first cause is right, as the diagnosis has it; of one that too few cases had, what its word is taken for."""
        return PROBABILITY[self.first.confidence] if self.found.chance is None else self.found.chance


def more(parser: ArgumentParser) -> None:
    parser.add_argument("--seed", type=positive(int), default=1, help="of the cases")
    parser.add_argument("--cases", type=positive(int), default=25, help="in all")
    parser.add_argument("--folder", type=Path, help="of scenarios with faults and their twins, in place of drawn cases")
    parser.add_argument(
        "--into", type=Path, required=True, metavar="DIR", help="cases that are there are not run again"
    )
    parser.add_argument(
        "--within", type=positive(float), default=math.inf, metavar="S", help="run nothing more after so many seconds"
    )
    parser.add_argument("--probe", action="store_true", help="diagnose experiments; with --folder")
    parser.add_argument("--record", action="store_true", help="run what is missing, and diagnose nothing")


def measure(session: Session) -> list[Result]:
    options = session.options
    if options.probe and not options.folder:
        raise UserError("--probe needs --folder", "the drawn faults need a small pool or a program beside them")
    cases_of = _from_folder if options.folder else _drawn
    faults = cases_of(options)
    with Interrupts() as interrupts:
        bench = Bench(session, interrupts, facts.collect(), time.monotonic() + options.within)
        for place, fault in faults.items():
            if not (place / CASE).exists() and time.monotonic() < bench.end:
                bench.record(fault, place)
        if options.record:
            return []
        taken = [_taken(place, fault) for place, fault in faults.items() if (place / CASE).exists()]
        cases = [bench.with_remedy(case) for case in taken if case]
    for case in cases:
        session.log(f"{case.run.path.parent.name}: {line(case)}")
    session.log(table(cases))
    return scored(session, cases, failed=taken.count(None))


def _drawn(options: Namespace) -> dict[Path, Fault]:
    """Where each case is kept -> its fault."""
    return {options.into / f"seed-{options.seed}" / f"{n:03}": draw(options.seed, n) for n in range(options.cases)}


def _from_folder(options: Namespace) -> dict[Path, Fault]:
    """Likewise. Raises UserError."""
    place = options.into / f"{options.folder.name}{'-probed' if options.probe else ''}"
    return {place / fault.scenario: fault for fault in read_folder(options.folder)}


def _taken(place: Path, fault: Fault) -> Case | None:
    """The case, diagnosed; None where it could not be run."""
    known = json.loads((place / CASE).read_text())
    if "failed" in known:
        return None
    probed = place / RUN / EXPERIMENT
    run = read(probed if probed.exists() else place / RUN)
    return Case(fault, Truth(**known), run, diagnose(run))


@dataclass(frozen=True)
class Bench:
    session: Session
    interrupts: Interrupts
    host: facts.Facts
    end: float
    """By time.monotonic(): nothing more is run after it."""

    def record(self, fault: Fault, directory: Path) -> None:
        """Runs one case into `directory`. One that cannot run is kept as such."""
        words = f"{' and '.join(fault.kinds) or 'healthy'} in {fault.scenario}: {dict(fault.sets) or fault.program or dict(fault.pools)}"
        self.session.log(f"{directory.name}: {words}")
        try:
            slower = self._compared(fault) if fault.kinds else None
            self._run(fault, directory / RUN)
            known = asdict(Truth(slower and slower.median - 1, slower and slower.low - 1, {}))
        except UserError as error:
            self.session.log(f"{directory.name}: failed: {error.message}")
            known = {"failed": error.message}
        directory.mkdir(parents=True, exist_ok=True)
        (directory / CASE).write_text(json.dumps(known, indent=1))

    def _run(self, fault: Fault, directory: Path) -> None:
        """The run to diagnose: again where others than the fault took the CPUs in most of its windows."""
        for _ in range(TRIES):
            shutil.rmtree(directory, ignore_errors=True)  # of the last try, or of a case that was cut short
            if self.session.options.probe:
                sets = [f"memory={self.session.memory}"]
                run = execute_experiment(fault.planted_file, sets, directory, self.interrupts).kept_run()
                if not (run.record.validity and run.record.validity.too_few_left):
                    return
                continue
            with fault.program.running() if fault.program else nullcontext():
                spec = self._spec(fault.planted_file, fault, {**DIAGNOSED, **fault.sets}, fault.into)
                run = execute(spec, directory, self.interrupts).kept_run()
            if fault.program or not (run.record.validity and run.record.validity.too_few_left):
                return

    def _compared(self, fault: Fault) -> Spread:
        """ns a message with the fault by those without it."""
        plain = self._spec(fault.file, fault, COMPARED)
        planted = self._spec(fault.planted_file, fault, {**COMPARED, **fault.sets}, fault.into)
        return self._one_after_the_other(plain, planted, fault) if fault.program else self._alternating(plain, planted)

    def with_remedy(self, case: Case) -> Case:
        """The case with what the remedy of its first cause brought: of one that makes the twin the growth, else it is run, if time is left."""
        fault, sets = case.fault, case.found.causes[0].sets if case.found.causes else []
        if fault.pair and case.found.causes and case.is_right and case.truth.slower is not None:
            return replace(case, truth=replace(case.truth, remedies={" ".join(sets): 100 * case.truth.slower}))
        if not sets or fault.program or fault.pools or case.brought is not None:
            return case
        changed = dict(each.split("=", 1) for each in sets)
        remedied = {**fault.sets, **changed}
        if case.truth.slower is not None and _scenario(fault.planted_file, fault, remedied) == _scenario(
            fault.file, fault, {}
        ):
            return replace(case, truth=replace(case.truth, remedies={" ".join(sets): 100 * case.truth.slower}))
        if time.monotonic() > self.end:
            return case
        try:
            planted = {**COMPARED, **fault.sets}
            specs = [self._spec(fault.planted_file, fault, sets) for sets in (planted, {**planted, **changed})]
            grown = self._alternating(*specs)
        except UserError as error:
            self.session.log(f"{case.run.path.parent.name}: {' '.join(sets)}: {error.message}")
            return case
        remedies = {**case.truth.remedies, " ".join(sets): 100 * (1 / grown.median - 1)}
        truth = replace(case.truth, remedies=remedies)
        (case.run.path.parent / CASE).write_text(json.dumps(asdict(truth), indent=1))
        return replace(case, truth=truth)

    def _spec(
        self, file: Path, fault: Fault, sets: Mapping[str, str], into: Callable[[RunSpec], RunSpec] = lambda spec: spec
    ) -> RunSpec:
        words = {"memory": self.session.memory, **fault.plain, **sets}
        return into(resolve(load(file, [f"{key}={value}" for key, value in words.items()]), here()))

    def _alternating(self, a: RunSpec, b: RunSpec) -> Spread:
        directory = self._new_directory()
        first = Random(str(directory)).randrange(2)
        outcomes = in_turns([a, b], [directory / side for side in "ab"], first, self.interrupts, [], self.host)
        return by_pairs(*(outcome.kept_run() for outcome in outcomes))

    def _one_after_the_other(self, a: RunSpec, b: RunSpec, fault: Fault) -> Spread:
        """Where what runs beside one would run beside the other, too: A, B, A, B."""
        runs: tuple[list[float], list[float]] = ([], [])
        for _ in range(2):
            for side, spec in enumerate((a, b)):
                with fault.program.running() if side and fault.program else nullcontext():
                    run = execute(spec, self._new_directory(), self.interrupts).kept_run()
                runs[side].extend(costs(run))
        return ratios(*runs)

    def _new_directory(self) -> Path:
        return self.session.directory / f"{len(list(self.session.directory.iterdir()))}"


def _scenario(file: Path, fault: Fault, sets: Mapping[str, str]) -> dict[str, object]:
    words = {**fault.plain, **sets}
    return load(file, [f"{key}={value}" for key, value in words.items()]).model_dump()


def costs(run: Run) -> list[float]:
    """ns a message of each measured window, also of those that the host has spoilt: they are of both sides alike."""
    (windows,) = run.windows.values()
    return [seconds([w]) * 1e9 / max(messages(w), 1) for w in measured(windows)]


def by_pairs(a: Run, b: Run) -> Spread:
    return ratios(costs(a), costs(b))


def ratios(a: Sequence[float], b: Sequence[float]) -> Spread:
    """Raises UserError where a run has too few windows."""
    pairs = [of_b / of_a for of_a, of_b in zip(a, b, strict=False)]
    if len(pairs) < 8:
        raise UserError(f"{len(pairs)} pairs of windows are too few")
    return interval(pairs)


def scored(session: Session, cases: Sequence[Case], failed: int) -> list[Result]:
    faulty, healthy = [c for c in cases if c.truth.counts], [c for c in cases if not c.truth.counts]
    rows = [
        share(session, "the planted cause is named first", [c.is_right for c in faulty], Goal(0.9, "at least", least_samples=1)),
        share(session, "healthy, and called faulty", [c.is_called_faulty for c in healthy], Goal(0.05, "at most", least_samples=1)),
        share(session, "the planted cause is among the first three", [among(c, 3) for c in faulty]),
        share(session, "the resource: ours", [resource(c) == c.fault.resource for c in faulty if c.fault.resource]),
        share(session, "the resource: the busiest worker", [busiest(c.run) == c.fault.resource for c in faulty if c.fault.resource]),
        *(row for tool in TOOLS for row in by_rule(session, tool, faulty, healthy)),
        share(session, "PipeTune's tree: P1 or P3, as planted", [means(pipetunes(c.run), c) for c in faulty]),
        share(session, "the same without 1 / throughput", [means(pipetunes(c.run, nic_rx=False), c) for c in faulty]),
        share(session, "healthy, and P1 or P3 by PipeTune's tree", [bool(pipetunes(c.run)) for c in healthy]),
        share(session, "remedies that brought what was predicted", [held(c) for c in cases if c.brought is not None and c.first.gain]),
    ]  # fmt: skip
    rows = [row for row in rows if row]
    named = [c for c in faulty if c.found.causes and c.says == c.first.code]
    said = [(c.chance, c.is_right) for c in named]
    said += [(c.chance, False) for c in healthy if c.is_called_faulty]
    for evidence in get_args(Evidence):
        right = [c.is_right for c in named if evidence_of(c.first.gain, c.found.conclusion) == evidence]
        session.log(f"first causes whose gain is {evidence}: {sum(right)} of {len(right)} right")
    if said:
        brier = sum((p - right) ** 2 for p, right in said) / len(said)
        rows.append(
            Result(
                "Brier score of the confidences", session.memory, Spread(brier, brier, brier, len(said), "range"), ""
            )
        )
    session.log(f"{len(faulty)} faults that count, {len(healthy)} healthy ones, {failed} could not be run")
    return rows


def by_rule(session: Session, tool: ModuleType, faulty: Sequence[Case], healthy: Sequence[Case]) -> list[Result | None]:
    rule = f"{tool.TOOL}'s rule"
    as_planted = [means(contention(tool, c.run), c) for c in faulty]
    return [
        share(session, f"{rule}, of the server: C1, or C2 or C4, as planted", as_planted),
        share(session, f"healthy, and C1 by {rule}", [contention(tool, c.run) == "C1" for c in healthy]),
    ]


def share(session: Session, name: str, which: Sequence[bool], goal: Goal | None = None) -> Result | None:
    """With Wilson's interval; None of nothing."""
    if not which:
        return None
    spread = wilson(sum(which), len(which))
    words = f"{sum(which)} of {len(which)}"
    return Result(
        f"{name}: {words}", session.memory, spread, "", words, goal=goal, verdict=judge(spread, goal) if goal else None
    )


def wilson(count: int, of: int) -> Spread:
    """A share and its 95% interval (E. B. Wilson, 1927)."""
    part, square = count / of, Z * Z / of
    middle = (part + square / 2) / (1 + square)
    half = Z / (1 + square) * math.sqrt(part * (1 - part) / of + square / (4 * of))
    return Spread(part, round(max(middle - half, 0.0), 9), round(min(middle + half, 1.0), 9), of, "95%")


def among(case: Case, first: int) -> bool:
    said = [case.found.limit.kind, *(cause.code for cause in case.found.causes[:first])]
    return any(code in case.fault.right for code in said)


def resource(case: Case) -> str:
    """What is full, as the diagnosis has it, in the words of a fault."""
    limit = case.found.limit
    if case.says in ("few-mbufs", "full-ring"):
        return case.says
    sides = [worker.sides for worker in case.found.workers if worker.worker in limit.workers[:1]]
    return sides[0] if sides else limit.kind


def means(verdict: str, case: Case) -> bool:
    return any(code in MEANS.get(verdict, ()) for code in case.fault.right)


def held(case: Case) -> bool:
    gain, brought = case.first.gain, case.brought
    return gain is not None and brought is not None and gain.low <= brought <= gain.high


def line(case: Case) -> str:
    """One case in words."""
    fault, truth = case.fault, case.truth
    what = f"{' and '.join(fault.kinds) or 'healthy'} in {fault.scenario}"
    grew = "" if truth.slower is None else f" ({truth.slower:+.1%})"
    if truth.counts:
        verdict = "right" if case.is_right else "MISSED"
    else:
        verdict = "CALLED FAULTY" if case.is_called_faulty else "healthy"
    causes = [
        f"{c.code} {f'{c.gain.low:.0f}..{c.gain.high:.0f}%' if c.gain else '?'} {c.confidence}"
        for c in case.found.causes[:3]
    ]
    brought = "" if case.brought is None else f"; its remedy brought {case.brought:+.0f}%"
    by_rules = [f"{tool.TOOL} {contention(tool, case.run)}" for tool in TOOLS]
    others = ", ".join((f"busiest {busiest(case.run)}", *by_rules, f"PipeTune {pipetunes(case.run)}"))
    return f"{what}{grew}: {verdict}: {case.found.limit.kind}; {', '.join(causes)}{brought} | {others}"


def table(cases: Sequence[Case]) -> str:
    """Markdown: a line for each kind."""
    lines = ["| planted | cases | count | named first | median growth |", "|---|---|---|---|---|"]
    for kind in sorted({" and ".join(case.fault.kinds) if len(case.fault.kinds) < 2 else "a pair" for case in cases}):
        of = [c for c in cases if kind == (" and ".join(c.fault.kinds) if len(c.fault.kinds) < 2 else "a pair")]
        counted = [c for c in of if c.truth.counts]
        grown = [c.truth.slower for c in counted if c.truth.slower is not None]
        middle = f"{median(grown):+.0%}" if grown else ""
        lines.append(
            f"| {kind or 'nothing'} | {len(of)} | {len(counted)} | {sum(c.is_right for c in counted)} | {middle} |"
        )
    return "\n" + "\n".join(lines)


if __name__ == "__main__":
    main(__doc__, measure, more=more)
