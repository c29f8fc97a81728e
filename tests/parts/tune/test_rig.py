"""What a trial takes from a run: its throughput, its latency, and of what kind its failure is."""

from types import SimpleNamespace

import pytest
from fake_runs import FAKE
from scenario_tools import engine, machine
from tuning_tools import SCENARIO, SPACE

from windtunnel.engine.interrupts import Interrupts
from windtunnel.errors import UserError
from windtunnel.measure.executor import ThisHost
from windtunnel.parts.tune import rig
from windtunnel.parts.tune.rig import Engines, failure_of, of_reading
from windtunnel.parts.tune.space import from_file


def reading(values, not_forwarded=()):
    return SimpleNamespace(values=values, not_forwarded=dict(not_forwarded), state="one-l3", line_ns=91.0)


def test_throughput_is_of_all_workloads_and_latency_of_the_slowest():
    values = {("a", "responses_per_s"): 3e6, ("b", "responses_per_s"): 1e6, ("a", "p99"): 5e3, ("b", "p99"): 9e3}
    found = of_reading(reading(values | {("", "server.app_rx.work_ns"): 7.0}))
    assert found.rate == 4e6 and found.latency["p99"] == 9e3 and found.latency["p50"] is None
    assert found.where.state == "one-l3" and found.failure is None


def test_without_a_client_packets_count():
    assert of_reading(reading({("x", "received_per_s"): 2e6})).rate == 2e6
    assert of_reading(reading({})).rate is None


@pytest.mark.parametrize(("lost", "bounded"), [(0.005, ["p50", "p90", "p99"]), (0.02, ["p50", "p90"]), (0.6, [])])
def test_a_percentile_is_bounded_as_long_as_losses_leave_it(lost, bounded):
    values = {("a", name): 1e3 for name in ("p50", "p90", "p99", "p99.9")}
    found = of_reading(reading(values, {"a": lost})).latency
    assert [name for name, value in found.items() if value is not None] == bounded


@pytest.mark.parametrize(
    ("reason", "kind"),
    [
        ("engine died: SIGSEGV while running", "crashed"),
        ("engine killed: no line for 10 s while running", "hung"),
        ("engine refused: no memory", "refused"),
        ("protocol error: half a line", "crashed"),
        ("settled: the rate drifts", "invalid"),
    ],
)
def test_failures_have_kinds(reason, kind):
    assert failure_of(["settled: something", reason]) == kind


@pytest.fixture
def engines(tmp_path):
    (tmp_path / "echo.toml").write_text(SCENARIO)
    (tmp_path / "space.toml").write_text(SPACE)
    with engine(str(FAKE)), Interrupts() as interrupts:
        space = from_file(tmp_path / "echo.toml", tmp_path / "space.toml", (), machine())
        yield Engines(space, ThisHost(), interrupts, 1)


def test_settings_that_cannot_run_any_more_are_refused(engines, tmp_path):
    incumbent, candidate = engines.pair((), ["server.cores=[999]"], tmp_path / "t", 1)
    assert incumbent.failure is None and candidate.failure == "refused" and "999" in candidate.reasons[0]
    incumbent, candidate = engines.pair(["server.cores=[999]"], (), tmp_path / "t", 1)
    assert incumbent.failure == "refused" and candidate.failure is None
    assert engines.alone(["server.cores=[999]"], tmp_path / "u").failure == "refused"
    assert not (tmp_path / "t").exists()


def test_a_run_that_was_deleted_has_no_remedies(engines, tmp_path):
    assert engines.remedies(tmp_path / "trials" / "001", "incumbent", 1) == ()


def test_a_file_that_has_changed_is_not_run(engines, tmp_path):
    (tmp_path / "echo.toml").write_text(SCENARIO.replace("256", "128"))
    with pytest.raises(UserError, match="changed while it was tuned"):
        engines.alone((), tmp_path / "t")


def test_both_are_run_with_their_settings_in_an_order_that_is_drawn(engines, tmp_path, monkeypatch):
    seen = []

    class Pair:
        def __init__(self, scenarios, runs, order):
            seen.append(([scenario.client.inflight for scenario in scenarios], runs, order))

        def run(self, change, executor, interrupts, announce):
            assert (change, executor, interrupts) == ("window", engines.executor, engines.interrupts)
            return iter(())

    monkeypatch.setattr(rig, "Pair", Pair)
    for number in range(1, 13):
        with pytest.raises(KeyError):
            engines.pair((), ["client.inflight=64"], tmp_path / "trials" / "003", number)
    budgets, runs, _ = seen[0]
    assert budgets == [256, 64]
    assert [str(run.relative_to(tmp_path)) for run in runs] == ["trials/003/incumbent/01", "trials/003/candidate/01"]
    assert {order for *_, order in seen} == {(0, 1), (1, 0)}
