"""What does a fleet bring, and what does a killed node cost? A study of 60 runs on two local Ray nodes, a CPU each.

Reference: the same study on one of these CPUs, without a fleet. Each engine has one core, on which all stages run. Then the same study with
a node that is killed (kill -9 of all its processes) after a drawn number of runs: every run must be there once, and the table must have
the rows of the study alone. Needs two CPUs that are otherwise idle: the nodes themselves and the command run on them, too.
"""

import argparse
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from os import environ, sched_getaffinity
from pathlib import Path

import duckdb
from harness.engine_run import COMMAND
from harness.main import finish_in_directory
from harness.results import Result, console
from harness.statistics import Goal, extent, judge

from windtunnel.errors import UserError
from windtunnel.runs import load

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "support"))
from ray_nodes import LocalCluster

SCENARIO = """\
duration = "{seconds}s"
warmup = "100ms"
window = "100ms"
[validity]
max_preempted = 1
max_excluded_windows = 1
[[workload]]
handler = "l_app"
"""
STUDY = """\
scenario = "one.toml"
repeats = 3
retries = 0
state_repeats = 0
[[factor]]
key = "client.inflight"
values = [{values}]
"""
FLEET = """\
address = "{address}"
wait = "5min"
"""
FASTER = Goal(0.6, "at most", least_samples=1)
WHOLE = Goal(1.0, "at least", least_samples=1)


def main() -> None:
    given = _options()
    finish_in_directory(lambda directory: _measured(directory, given))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3, help="studies on one CPU and on two, in turns")
    parser.add_argument("--kills", type=int, default=5, help="studies during which a node is killed")
    parser.add_argument("--points", type=int, default=20, help="of the study, with three runs each")
    parser.add_argument("--seconds", type=float, default=2.0, help="measured time of a run, as in studies/")
    return parser.parse_args()


def _measured(directory: Path, given: argparse.Namespace) -> Iterator[Result]:
    cpus = sorted(sched_getaffinity(0))[:2]
    if len(cpus) < 2:
        raise UserError("two CPUs are needed, one for each testbed")
    values = ", ".join(str(32 * n) for n in range(1, given.points + 1))
    study = directory / "study.toml"
    study.write_text(STUDY.format(values=values))
    (directory / "one.toml").write_text(SCENARIO.format(seconds=given.seconds))
    with LocalCluster(dict(environ)) as cluster:
        cluster.start("alpha", cpus[:1])
        cluster.start("beta", cpus[1:])
        fleet = directory / "fleet.toml"
        fleet.write_text(FLEET.format(address=cluster.address))
        yield _faster(directory, study, fleet, cpus[0], given.rounds)
        if given.kills:
            yield _whole(directory, study, fleet, cluster, cpus[1:], given.kills)


def _faster(directory: Path, study: Path, fleet: Path, cpu: int, rounds: int) -> Result:
    alone, both = [], []
    for number in range(rounds):
        alone.append(_timed([*_on_cpu(cpu), *_words(study, directory / f"alone-{number}")]))
        both.append(_timed(_words(study, directory / f"both-{number}", fleet)))
        if _rows(directory / f"both-{number}") != _rows(directory / f"alone-{number}"):
            raise UserError("the studies on one CPU and on two testbeds have different tables")
        console().print(f"one CPU {alone[-1]:.1f} s, two testbeds {both[-1]:.1f} s", style="dim")
    ratios = extent([b / a for a, b in zip(alone, both, strict=True)])
    return Result(
        f"time of a study of {len(_rows(directory / 'alone-0'))} runs on two testbeds",
        _memory(directory),
        ratios,
        "x",
        ours=f"{min(both):.1f} s",
        reference=f"one CPU without a fleet: {min(alone):.1f} s",
        goal=FASTER,
        verdict=judge(ratios, FASTER),
        details={"alone_s": alone, "both_s": both},
    )


def _whole(directory: Path, study: Path, fleet: Path, cluster: LocalCluster, cpus: list[int], kills: int) -> Result:
    wanted = _rows(directory / "alone-0")
    kept = [_survives(cluster, study, directory / f"killed-{number}", fleet, cpus, wanted) for number in range(kills)]
    share = extent([sum(kept) / len(kept)])
    words = f"{sum(kept)} of {len(kept)} studies"
    return Result(
        "whole after kill -9 of a node", _memory(directory), share, "", words, goal=WHOLE, verdict=judge(share, WHOLE)
    )


def _memory(directory: Path) -> str:
    return load(next((directory / "both-0" / "runs").iterdir())).record.memory or ""


def _on_cpu(cpu: int) -> list[str]:
    return ["taskset", "-c", str(cpu)]


def _words(study: Path, out: Path, fleet: Path | None = None) -> list[str]:
    on = [] if fleet is None else ["--on", str(fleet)]
    return [str(COMMAND), "study", str(study), "--out", str(out), "--quiet", *on]


def _timed(words: list[str]) -> float:
    """s from the start of the command to its end: imports, the fleet, table and report included."""
    start = time.monotonic()
    _ended(subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True))
    return time.monotonic() - start


def _ended(process: subprocess.Popen[str]) -> str:
    said, _ = process.communicate()
    if process.returncode not in (0, 1):
        raise UserError(f"the study did not run: {said.strip()}")
    return said


def _survives(
    cluster: LocalCluster, study: Path, out: Path, fleet: Path, cpus: list[int], wanted: list[object]
) -> bool:
    """Whether a study is whole whose second node was killed in the middle; the node is back afterwards."""
    process = subprocess.Popen(_words(study, out, fleet), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    enough = random.randint(len(wanted) // 6, len(wanted) // 2)
    while len(list(out.glob("runs/*/run.json"))) < enough and process.poll() is None:
        time.sleep(0.02)
    cluster.kill("beta")
    said = _ended(process)
    lost = "testbed beta is lost" in said
    whole = lost and _rows(out) == wanted and len(list((out / "runs").iterdir())) == len(wanted)
    console().print(
        f"killed after {enough} runs: {'whole' if whole else 'not whole'}{'' if lost else ': the node was not missed'}",
        style="dim",
    )
    cluster.start("beta", cpus)
    return whole


def _rows(out: Path) -> list[object]:
    columns = "point, repeat, attempt, inflight, workload"
    return list(duckdb.sql(f"select {columns} from '{out / 'results.parquet'}' order by all").fetchall())


if __name__ == "__main__":
    main()
