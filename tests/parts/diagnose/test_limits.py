"""What limits: by the slack of the workers and its interval over windows."""

import pytest
import sample_lines as sample
from diagnosed_runs import made, opened

from windtunnel.engine.verdict import Verdict
from windtunnel.parts.diagnose.diagnose import diagnose
from windtunnel.runs.record import Imported
from windtunnel.runs.validity import Check, Validity

CLIENT, SERVER = 0, 1
WAITING = {"client": 0.8, "server": 0.7}
"""Both workers have more slack than half."""
STALLED = WAITING | {"stalls": {("client", "nic_tx"): 0.5}}


def limit(run):
    return diagnose(run).limit


def on_nics():
    plan = sample.plan()
    nics = [e.model_copy(update={"port": e.port.model_copy(update={"traits": ["nic"]})}) for e in plan.endpoints]
    return plan.model_copy(update={"endpoints": nics})


def server_alone(wire, slack):
    return {"server": slack, "plan": sample.plan(("server",), wire=wire)}


@pytest.mark.parametrize(
    ("about", "kind", "workers", "words"),
    [
        ({"client": 0.2, "server": 0.05}, "worker", [SERVER], "the server's worker on CPU 1 limits"),
        ({"client": 0.05, "server": 0.2}, "generator", [CLIENT], ""),
        ({"client": 0.1, "server": 0.1}, "tie", [CLIENT, SERVER], ""),
        ({"client": 0.8, "server": 0.5}, "tie", [SERVER], ""),  # it is about half
        (WAITING, "in-flight", [], ""),
        (WAITING | {"drops": {"emulated_queue_full": 5}}, "link", [], "60 packets"),
        (STALLED, "in-flight", [], ""),  # a ring that is full is no line
        (STALLED | {"plan": on_nics()}, "link", [], ""),
        ({"windows": 0}, "unknown", [], "no window was measured"),
        ({"windows": 3}, "unknown", [], "3 windows are too few"),
        (server_alone("ring", 0.8), "unknown", [], ""),  # it does not know its client
        (server_alone("null", 0.8), "offered load", [], ""),
        (server_alone("null", 0.0), "worker", [0], ""),
    ],
)
def test_the_least_slack_limits_unless_all_have_more_than_half(about, kind, workers, words):
    found = limit(made(**about))
    assert (found.kind, sorted(found.workers)) == (kind, workers) and words in found.words


@pytest.mark.parametrize(
    ("about", "kind", "workers", "words"),
    [
        ({}, "offered load", [], "all that was due was sent, and got a response"),
        ({"loads": {"lost": 5000, "responses": 495_000}}, "offered load", [], "1.00% of it was lost"),
        ({"client": 0.4, "server": 0.01, "loads": {"offered": 700_000}}, "worker", [SERVER], ""),
    ],
)
def test_an_open_loop_is_limited_by_its_load_as_long_as_all_of_it_is_sent(about, kind, workers, words):
    found = limit(opened(**{"client": 0.9, "server": 0.8} | about))
    assert (found.kind, found.workers) == (kind, workers) and words in found.words


@pytest.mark.parametrize(
    ("about", "stage", "evidence"),
    [
        ({"client": 0.2, "server": 0.05}, "nic_rx", "the server's worker on CPU 1 has a slack of 5.0% ["),
        ({"client": 0.2, "server": 0.0}, "nic_rx", "0.0% [0.0% .. 0.0%], 0.0% with what reading the clock adds"),
        ({"work": {("server", "app_rx"): 6.0}}, "app_rx", "server app_rx takes 60% of the work of the server's worker"),
        (WAITING, None, "1.00 M/s x 1.02 ms = 1,024 messages in flight, of an in-flight limit of 1,024"),
    ],
)
def test_the_evidence_has_slacks_costs_and_messages_in_flight(about, stage, evidence):
    found = limit(made(**about))
    assert any(evidence in line for line in found.evidence) and found.stage == (stage and f"server {stage}")
    assert "clock" not in found.evidence[1], "only where no slack is known is it left in"


def test_an_invalid_run_is_read_and_the_host_is_a_limit():
    bad = Check(name="windows", state="bad", words="10 of 12 windows excluded")
    reasons = ["windows: 10 of 12 windows excluded"]
    found = limit(made(verdict=Verdict(False, reasons), validity=Validity(checks=[bad], excluded=[])))
    assert found.kind == "host" and found.evidence == reasons


@pytest.mark.parametrize("share", [0.0, 0.001, 0.3])
def test_time_waited_for_room_is_slack_too(share):
    run = made(client=0.4, server=share, stalls={("server", "nic_tx"): 0.9})
    (server,) = [worker for worker in diagnose(run).workers if worker.worker == SERVER]
    assert server.slack.mean == pytest.approx(share, rel=0.02, abs=1e-6)


def test_an_imported_run_has_no_slack():
    about = {"tool": "testpmd", "file": "a.txt", "sha256": "0", "at": "2026-01-01T00:00:00Z"}
    imported = Imported(**about, stages=[], ports=[], values=[])
    run = made()
    run = type(run)(run.path, run.record.model_copy(update={"engines": [], "imported": imported}), {})
    found = diagnose(run)
    assert found.limit.kind == "unknown" and found.not_measured and found.workers == []


def waiting(fastest_ns, first_ns=100_000):
    """Workers with slack; the fastest message of each window takes so long, and that of the first one, which is in no metric, less."""
    run = made(**WAITING)

    def timed(window, ns):
        seen = sample.histogram([ns, 2 * ns], times=1000)
        workloads = [w.model_copy(update={"latency_sent": seen}) for w in window.workloads]
        return window.model_copy(update={"workloads": workloads})

    ((name, (first, *rest)),) = run.windows.items()
    warmup = timed(first, first_ns).model_copy(update={"phase": "warmup"})
    return type(run)(run.path, run.record, {name: [warmup, *(timed(window, fastest_ns) for window in rest)]})


def test_messages_that_wait_for_most_of_their_latency_wait_for_a_link():
    found = limit(waiting(300_000))
    assert found.kind == "link" and "for 67% of its latency" in found.evidence[-1]
    assert limit(waiting(190_000)).kind == "in-flight"
    assert limit(waiting(100_000)).kind == "in-flight"
