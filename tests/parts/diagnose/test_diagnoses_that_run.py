"""Diagnosis on the real engine: it names the worker that a memory-bound handler fills, from the record and by experiment.

A host that takes a worker's CPU away comes first, as it should, and may be all that limits: what is named beside it is held by recorded and
made runs beside this file.
"""

import pytest
from real_runs import execute, scenario
from scenario_tools import written

from windtunnel.engine.interrupts import Interrupts
from windtunnel.errors import UserError
from windtunnel.parts.diagnose import conduct, tried
from windtunnel.parts.diagnose.conduct import execute_experiment
from windtunnel.parts.diagnose.diagnose import diagnose
from windtunnel.parts.diagnose.tried import try_remedies

pytestmark = pytest.mark.slow
M_APP = {"handler": "m_app", "options": {"state": "64MiB", "accesses": 16, "pattern": "random"}}
KEYS = {"duration": "1200ms", "warmup": "200ms", "window": "100ms"}


def servers_worker(run):
    (plan,) = (engine.plan for engine in run.record.engines)
    (worker,) = (n for n, each in enumerate(plan.workers) if plan.endpoints[each.stages[0].endpoint].side == "server")
    return worker


@pytest.mark.alone
def test_the_servers_worker_is_named_and_its_ledger_closes(tmp_path):
    run = execute(tmp_path, scenario(M_APP, **KEYS)).run
    found = diagnose(run)
    work = {ledger.worker: sum(ledger.work.values()) for ledger in found.ledgers}
    assert max(work, key=work.__getitem__) == servers_worker(run)
    for ledger in found.ledgers:
        parts = (
            sum(ledger.work.values()) + ledger.stall + ledger.idle + ledger.interrupted + ledger.traffic + ledger.clock
        )
        assert parts + ledger.rest.mean == pytest.approx(ledger.window_ns)
    if found.limit.kind == "unknown":  # of the calls of the sample none had the CPU for itself
        pytest.skip(f"the host took the CPUs: {found.limit.words}")
    if found.causes[0].code != "host-time":
        assert (found.limit.kind, found.limit.workers) == ("worker", [servers_worker(run)])
        assert (found.limit.stage, found.causes[0].code) == ("server app_rx", "handler")


@pytest.mark.alone
def test_an_experiment_names_it_too(tmp_path, monkeypatch):
    monkeypatch.setattr(conduct, "EXPERIMENT_MS", 3000)
    with Interrupts() as interrupts:
        try:
            outcome = execute_experiment(written(tmp_path, scenario(M_APP, **KEYS)), [], tmp_path / "out", interrupts)
        except UserError as refused:
            assert "windows excluded" in str(refused)
            pytest.skip(f"the host took the CPUs: {refused}")
    run = outcome.kept_run()
    assert run.path == tmp_path / "out" / "experiment" and (tmp_path / "out" / "first" / "run.json").exists()
    found = diagnose(run).experiment
    assert found.slopes and all(len(slope.delays_ns) == 2 and min(slope.delays_ns) > 0 for slope in found.slopes)
    if found.limit.kind != "unknown":  # a busy host may take most of so short an experiment
        by_side = {slope.sides: slope for slope in found.slopes}
        if not {"server", "client"} <= by_side.keys() and run.record.validity.excluded:
            pytest.skip(f"the host took the CPUs: {len(run.record.validity.excluded)} windows excluded")
        assert by_side["server"].slope.mean > by_side["client"].slope.mean
        assert servers_worker(run) in found.limit.workers
        if not run.record.validity.excluded:  # fewer windows may not tell the two apart
            assert (found.limit.kind, found.limit.workers) == ("worker", [servers_worker(run)])


def test_a_remedy_is_run_against_the_file(tmp_path, monkeypatch):
    monkeypatch.setattr(tried, "PAIRS", 2)
    file = written(tmp_path, scenario(M_APP, client={"inflight": 1, "batch": {"app_tx": 1}}, **KEYS))
    found = diagnose(execute(tmp_path, file).run)
    if "host-time" in (cause.code for cause in found.causes) and not any(cause.sets for cause in found.causes):
        pytest.skip(f"the host took the CPUs: {found.causes[0].title}")
    (cause,) = (cause for cause in found.causes if cause.sets)
    assert (cause.code, cause.sets) == ("in-flight", ["client.inflight=2"])
    (row,) = try_remedies(found, file, ["duration=200ms"], 1, tmp_path / "r-tried")
    assert (row.code, row.sets, row.predicted) == (cause.code, cause.sets, cause.gain)
    assert (
        row.verdict and not row.interrupted and row.metric in ("responses_per_s", None)
    )  # None: a busy host spoilt the runs
    assert len(list((tmp_path / "r-tried" / "in-flight" / "b").iterdir())) >= 2
