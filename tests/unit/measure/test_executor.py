"""The seam between who measures and where it is executed: this host executes in order; others may in any, and a study is the same."""

import re
from dataclasses import replace

import pytest
from scenario_tools import machine
from study_tools import HEAD, on_paper, written

from windtunnel.engine.interrupts import Interrupts
from windtunnel.errors import UserError
from windtunnel.measure.executor import Job, ThisHost
from windtunnel.measure.study import identity
from windtunnel.measure.study import record as records
from windtunnel.measure.study.conduct import Silent
from windtunnel.measure.study.states import by_testbed
from windtunnel.measure.study.study import prepare, run
from windtunnel.scenario import load


class Backwards(ThisHost):
    """Executes the last job first, on the testbeds a and b in turn."""

    @property
    def testbeds(self):
        return {"a": self.host, "b": self.host}

    def execute_jobs(self, jobs, interrupts, listeners=(), begins=lambda job: None):
        for job in reversed(list(jobs)):
            yield from super().execute_jobs([job], interrupts, listeners, begins)


class Spread(Backwards):
    spread = True


def test_this_host_executes_in_order_and_begins_nothing_after_an_interrupt(tmp_path):
    scenario = load(written(tmp_path).parent / "echo.toml", [])
    jobs = [Job((scenario,), (tmp_path / f"{n}",)) for n in range(3)]
    begun = []
    with on_paper(), Interrupts() as interrupts:
        for job, (outcome,) in ThisHost(machine()).execute_jobs(jobs, interrupts, begins=begun.append):
            assert outcome.kept_run().path == job.directories[0]
            if len(begun) == 2:
                interrupts.interrupt()
    assert begun == jobs[:2]


def test_a_scenario_that_cannot_run_leaves_no_directory(tmp_path):
    scenario = load(written(tmp_path).parent / "echo.toml", ["server.cores=[99]"])
    with on_paper(), Interrupts() as interrupts, pytest.raises(UserError):
        ThisHost(machine()).execute_job(Job((scenario,), (tmp_path / "run",)), interrupts)
    assert not (tmp_path / "run").exists()


def study(tmp_path, name, executor):
    file = written(tmp_path, head=HEAD + "repeats = 2\n")
    with on_paper(), Interrupts() as interrupts:
        return run(prepare(file, [], tmp_path / name, executor), interrupts, Silent())


def test_the_order_in_which_runs_end_changes_nothing(tmp_path):
    forth, back = (study(tmp_path, each.__name__, each(machine())) for each in (ThisHost, Backwards))
    keys = ("point", "repeat", "directory", "valid")
    places = [[[row[key] for key in keys] for row in of.rows] for of in (forth, back)]
    assert places[0] == places[1] and len(places[0]) == 6 and not back.interrupted
    assert forth.record.testbeds == {} and sorted(back.record.testbeds) == ["a", "b"]


def test_a_group_is_a_point_and_in_a_spread_study_a_block(tmp_path):
    groups = {}

    class Noting:
        def execute_jobs(self, jobs, *rest):
            jobs = list(jobs)
            for job in jobs:
                groups.setdefault(type(self).__name__, {})[job.directories[0].name] = job.group
            yield from super().execute_jobs(jobs, *rest)

    for executor in (type("Points", (Noting, Backwards), {}), type("Blocks", (Noting, Spread), {})):
        study(tmp_path, executor.__name__, executor(machine()))
    for name, group in groups["Points"].items():
        assert int(name.partition("-")[0]) == group
    for name, group in groups["Blocks"].items():
        assert int(re.search(r"-r(\d+)", name)[1]) == group


def test_a_study_goes_on_with_other_testbeds_but_not_without_any(tmp_path):
    of = study(tmp_path, "out", Backwards(machine())).record
    fewer = of.model_copy(update={"testbeds": {"a": of.testbeds["a"]}})
    assert identity.differences(of, fewer) == ""
    other = of.model_copy(update={"testbeds": {"a": of.testbeds["a"] | {"kernel": "6.99"}}})
    assert "6.99" in identity.differences(of, other)
    assert "one host, without testbeds" in identity.differences(of, of.model_copy(update={"testbeds": {}}))
    assert "spread: true" in identity.differences(of, of.model_copy(update={"spread": True}))


def test_only_rows_of_one_testbed_are_taken_together_in_a_spread_study(tmp_path):
    of = study(tmp_path, "out", Spread(machine()))
    rows = [row | {"testbed": "ab"[row["repeat"] - 1]} for row in of.rows]
    assert of.record.spread
    repeats = {name: {row["repeat"] for row in those} for name, those in by_testbed(of.record, rows).items()}
    assert repeats == {"a": {1}, "b": {2}}
    parts = replace(of, rows=rows).parts
    assert {name: {row["testbed"] for row in part.rows} for name, part in parts.items()} == {"a": {"a"}, "b": {"b"}}
    together = of.record.model_copy(update={"spread": False})
    assert list(by_testbed(together, rows).values()) == [rows]
    assert records.read(of.path / "study.json").spread
