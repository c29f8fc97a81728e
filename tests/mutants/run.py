"""Tries mutants: small changes of the code that decides about numbers and verdicts. The tests should notice each of them.

    ./test long mutants                                                      200 of them, hours
    .venv/bin/python tests/mutants/run.py --count 20 --only python --quick    a look

Of 200, 120 are of Python code (operators of cosmic-ray) and 80 of the engine (cpp_operators.py); draw.py has the files. The draw is the
same for a seed and a commit. What is tried is HEAD, in a copy outside the checkout with its own build: killed at any moment, this
leaves the checkout as it is, and --resume goes on. Mutated code runs with your rights. As root it cannot write to the checkout, but may
do anything else: choose a machine that may be spoilt.

A mutant goes from stage to stage, the cheapest first, and the first that fails has killed it. Python: the module is imported; the quick
unit tests that have its name or its package's; those of its package; all quick ones; the slow ones; runs of the real engine (tests/e2e,
tests/hostile). Engine: it compiles, and is another engine than before (else it is no mutant, and another one is drawn); the engine's
suites; its fuzzers for a moment, with AddressSanitizer; runs; slow unit tests. Those of all mutants pass without one first. A stage has
three times what that took, and a minute: a mutant that needs longer is killed by the time limit. For suites and fuzzers, Meson has one for
each, and building them is not counted.

mutants.tsv in the scratch directory has a row for each mutant: what it changes, and the stage and test that killed it, or SURVIVED. A
survivor gets a test, or a reason in reasons.toml. --resume --again tries those that have survived so far again.
"""

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from draw import AREAS, draw
from mutant import Mutant
from reasons import Reasons
from results import EXCUSED, KILLED, NO_MUTANT, SURVIVED, Results, row_of
from scratch import Scratch
from stages import BUILD, Stage, common_stages, end_marked, run_stage, stages_of

CHECKOUT = Path(__file__).resolve().parents[2]
OF_PYTHON = 0.6


def main(arguments: list[str] | None = None) -> int:
    options = _options(arguments)
    reasons = Reasons(CHECKOUT / "tests/mutants/reasons.toml", CHECKOUT)
    scratch = Scratch(CHECKOUT, options.scratch)
    end_marked(scratch.checkout)  # what a killed run left running
    scratch.build()
    results = Results(options.scratch / "mutants.tsv", options.resume)
    number = 0
    for language, wanted in _shares(options.count, options.only).items():
        if wanted == 0:
            continue
        trial = Trial(scratch, language, options.quick)
        for mutant in _drawn(scratch.checkout, language, options.seed):
            if wanted == 0:
                break
            outcome = results.known(mutant)
            if outcome and outcome.startswith(EXCUSED):
                outcome = SURVIVED
            if outcome is None or (options.again and outcome == SURVIVED):
                outcome = trial.outcome(mutant)
            if outcome == SURVIVED and (reason := reasons.of(mutant)):
                outcome = EXCUSED + reason
            row = row_of(mutant, number + 1, outcome)
            results.add(row)
            print(f"{row.number or '-':>4} {mutant.place}: {mutant.change}: {outcome}", flush=True)
            number += row.counts
            wanted -= row.counts
    killed, survived, excused = results.count()
    print(f"rows: {results.file}")
    print(f"mutants: {killed} passed, {survived} failed" + (f", {excused} excused" if excused else ""))
    return int(survived > 0)


class Trial:
    """Of mutants of one language, against stages that pass without one."""

    def __init__(self, scratch: Scratch, language: str, quick: bool) -> None:
        self.scratch = scratch
        self.quick = quick
        self.engine = scratch.engine.read_bytes()
        self.seconds = _seconds_without_mutant(scratch, common_stages(language, quick))

    def outcome(self, mutant: Mutant) -> str:
        with self.scratch.applied(mutant):
            for stage in stages_of(mutant, self.scratch.checkout, self.quick):
                limit_s = 60 + 3 * self.seconds[stage.limited_like] if stage.limited_like else None
                ended = run_stage(stage, self.scratch.checkout, limit_s, self.scratch.origin)
                if stage.name == BUILD:
                    if not ended.passed:
                        return f"{NO_MUTANT}it does not compile"
                    if self.scratch.engine.read_bytes() == self.engine:
                        return f"{NO_MUTANT}the same engine"
                elif not ended.passed:
                    return f"{KILLED}{stage.name}: {ended.by} ({ended.seconds:.0f} s)"
        return SURVIVED


def _seconds_without_mutant(scratch: Scratch, stages: list[Stage]) -> dict[str, float]:
    """By stage; kept for the commit."""
    file = scratch.directory / "without-mutant.json"
    kept = json.loads(file.read_text()) if file.exists() else {}
    seconds: dict[str, float] = kept.get("seconds", {}) if kept.get("commit") == scratch.commit else {}
    for stage in stages:
        if stage.name not in seconds:
            print(f"without a mutant: {stage.name}", flush=True)
            ended = run_stage(stage, scratch.checkout, None, scratch.origin)
            if not ended.passed:
                print("\n".join(ended.output.splitlines()[-60:]))
                raise SystemExit(f"without a mutant, {stage.name} fails: {ended.by}")
            seconds[stage.name] = ended.seconds
            file.write_text(json.dumps({"commit": scratch.commit, "seconds": seconds}))
    return seconds


def _shares(count: int, only: str | None) -> dict[str, int]:
    of_python = count if only == "python" else 0 if only else round(count * OF_PYTHON)
    return {"python": of_python, "c++": count - of_python}


def _drawn(checkout: Path, language: str, seed: int) -> Iterator[Mutant]:
    if language == "python":
        from python_operators import python_mutations as mutations
    else:
        from cpp_operators import cpp_mutations as mutations
    return draw(checkout, language, AREAS[language], mutations, seed)


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", choices=AREAS)
    parser.add_argument("--quick", action="store_true", help="no slow tests and no runs of the engine")
    parser.add_argument("--resume", action="store_true", help="goes on from the rows that are there")
    parser.add_argument("--again", action="store_true", help="with --resume: tries survivors again")
    default = Path(tempfile.gettempdir()) / f"windtunnel-mutants-{os.getuid()}"
    parser.add_argument(
        "--scratch", type=Path, default=default, help="directory of the copy and of the rows (%(default)s)"
    )
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
