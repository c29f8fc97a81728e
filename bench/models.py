"""What are the held-out errors of the models? The shipped studies `model-*` are run, fitted and held to their goals.

Measures this host's ladder, runs each study (five runs a size, blocks in drawn order), and prints the errors of sizes, loads and
pipelines that were held out, each with those of the thesis' forms chosen likewise. About 20 minutes; not part of bench/all. Studies that
stand in --out already are read and not run again, so that a kill costs one study.
"""

import argparse
import subprocess
import sys
from pathlib import Path

from harness import hugepages
from harness.engine_run import COMMAND
from harness.main import commit
from harness.options import positive
from harness.results import Result, console, keep, show
from harness.statistics import Goal, extent, judge
from pydantic_core import to_jsonable_python

from windtunnel.errors import UserError
from windtunnel.host import facts
from windtunnel.host.ladder import Ladder
from windtunnel.host.ladder import read as read_ladder
from windtunnel.parts.models.composed import Composed
from windtunnel.parts.models.curve import Options
from windtunnel.parts.models.model_record import Curve, LatencyCurve
from windtunnel.parts.models.queueing import JUDGED
from windtunnel.parts.models.validate import GOALS, Checked, check

STUDIES = Path(__file__).resolve().parents[1] / "studies"
NAMES = ("exact", "exact-single", "lpm", "acl", "linear", "tss", "pipeline", "load", "load-one")
MILLION = 1e6
LARGE = ("exact", "exact-single", "lpm", "tss")
"""Fitted up to a million entries and asked beyond; the others up to a tenth of their largest size."""


def main() -> None:
    """Exit codes: 0 every goal was met, 1 one was not, 2 a study could not be run or fitted."""
    given = _options()
    try:
        with hugepages.reserved(given.hugepages):
            given.out.mkdir(parents=True, exist_ok=True)
            ladder = _ladder(given.out)
            finished = [_run(name, given.out) for name in NAMES]
        results = _results(check(finished, ladder, Options(), {given.out / name: MILLION for name in LARGE}))
    except UserError as error:
        console().print(f"[red]{error.message}[/]" + (f"\n{error.remedy}" if error.remedy else ""))
        sys.exit(2)
    show(results)
    console().print(f"samples: {keep(results, to_jsonable_python(facts.collect()), commit())}")
    sys.exit(any(result.verdict is not None and result.verdict.met is False for result in results))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="where studies and ladder go, or are")
    parser.add_argument(
        "--hugepages", type=positive(int), metavar="N", help="reserve N pages of 2 MiB for the runs (root); 4096 do"
    )
    return parser.parse_args()


def _ladder(out: Path) -> Ladder:
    file = out / "ladder.json"
    if not file.exists():
        _call("host", "ladder", "--out", file)
    return read_ladder(file)


def _run(name: str, out: Path) -> Path:
    directory = out / name
    if (directory / "results.parquet").exists():  # it has ended
        return directory
    if directory.exists():
        _call("study", directory, "--quiet")  # runs what is missing
    else:
        _call("study", STUDIES / f"model-{name}.toml", "--out", directory, "--quiet")
    return directory


def _call(*words: str | Path) -> None:
    """Raises UserError where the command cannot do it; single invalid runs are said by what reads the study."""
    done = subprocess.run([COMMAND, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode not in (0, 1):
        raise UserError(f"windtunnel {' '.join(map(str, words))}: {done.stdout.strip()}")


def _results(checked: Checked) -> list[Result]:
    results = []
    for path, model in checked.models:
        memory = model.memory or ""
        for curve in model.curves:
            results += _of_curve(path.name, memory, curve)
        for curve in model.latency:
            results += _of_latency(path.name, memory, curve)
    for path, rows in checked.pipelines:
        results.append(_of_pipelines(path.name, rows))
    return results


def _of_curve(name: str, memory: str, curve: Curve) -> list[Result]:
    noise = "" if curve.noise is None else f", runs differ by {curve.noise:.1%}"
    found = [
        _result(
            f"{name}: leave one out",
            memory,
            curve.mape,
            "leave one out",
            ours=curve.form + noise,
            reference=_thesis(curve.thesis_mape),
        )
    ]
    if curve.beyond:
        found.append(
            _result(
                f"{name}: fitted up to {curve.beyond.bound:g}, asked beyond",
                memory,
                curve.beyond.mape,
                "beyond",
                ours=curve.beyond.form,
                reference=_thesis(curve.beyond.thesis_mape),
            )
        )
    return found


def _of_latency(name: str, memory: str, curve: LatencyCurve) -> list[Result]:
    return [
        _result(
            f"{name}: {percentile}",
            memory,
            curve.mape[percentile],
            "latency" if percentile in JUDGED else None,
            ours=f"{curve.form}, runs differ by {curve.noise[percentile] or 0:.1%}",
        )
        for percentile in curve.mape
    ]


def _of_pipelines(name: str, rows: list[Composed]) -> Result:
    mean = sum(abs(row.error) for row in rows) / len(rows)
    details = ", ".join(f"{row.point} {row.error:+.1%}" for row in rows)
    return _result(f"{name}: never fitted", "", mean, "pipeline", ours=details)


def _thesis(mape: float | None) -> str:
    return "" if mape is None else f"the thesis' forms {mape:.1%}"


def _result(name: str, memory: str, mape: float, goal: str | None, ours: str = "", reference: str = "") -> Result:
    """A mean absolute error, %."""
    spread = extent([100 * float(mape)])
    limit = goal and Goal(100 * GOALS[goal], "at most", least_samples=1)
    return Result(name, memory, spread, "%", ours, reference, limit, limit and judge(spread, limit))


if __name__ == "__main__":
    main()
