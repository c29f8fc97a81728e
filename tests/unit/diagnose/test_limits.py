"""What limits: by the slack of the workers and its interval over windows."""

import pytest
import sample_lines as sample
from diagnosed_runs import made, opened

from windtunnel.diagnose import diagnose
from windtunnel.engine.verdict import Verdict
from windtunnel.runs.record import Imported
from windtunnel.runs.validity import Check, Validity

CLIENT, SERVER = 0, 1


def limit(run):
    return diagnose(run).limit


def test_the_worker_with_the_least_slack_limits():
    found = limit(made(client=0.2, server=0.05))
    assert (found.kind, found.workers) == ("worker", [SERVER])
    assert found.words == "the server's worker on CPU 1 limits"
    assert found.evidence[0].startswith("the server's worker on CPU 1 has a slack of 5.0% [")


def test_where_no_slack_is_known_the_evidence_has_the_clock_left_in():
    first, second, *_ = limit(made(client=0.2, server=0.0)).evidence
    assert first.endswith("has a slack of 0.0% [0.0% .. 0.0%], 0.0% with what reading the clock adds")
    assert "clock" not in second


def test_its_most_costly_stage_is_named():
    found = limit(made(work={("server", "app_rx"): 6.0}))
    assert found.stage == "server app_rx"
    assert "server app_rx takes 60% of the work of the server's worker on CPU 1" in found.evidence


def test_a_client_with_the_least_slack_is_the_generator():
    found = limit(made(client=0.05, server=0.2))
    assert (found.kind, found.workers) == ("generator", [CLIENT])


def test_workers_with_the_same_slack_are_a_tie():
    found = limit(made(client=0.1, server=0.1))
    assert (found.kind, sorted(found.workers)) == ("tie", [CLIENT, SERVER])


def test_workers_with_more_slack_than_half_do_not_limit():
    found = limit(made(client=0.8, server=0.7))
    assert (found.kind, found.workers) == ("in-flight", [])
    assert any(
        line.startswith("1.00 M/s x 1.02 ms = 1,024 messages in flight, of a budget of 1,024")
        for line in found.evidence
    )


def test_a_worker_with_about_half_is_a_tie():
    assert limit(made(client=0.8, server=0.5)).kind == "tie"


def test_a_full_queue_of_the_line_is_a_link():
    found = limit(made(client=0.8, server=0.7, drops={"emulated_queue_full": 5}))
    assert found.kind == "link" and "60 packets" in found.words


def test_a_port_of_a_nic_that_takes_no_more_is_a_link():
    plan = sample.plan()
    nics = [e.model_copy(update={"port": e.port.model_copy(update={"traits": ["nic"]})}) for e in plan.endpoints]
    stalls = {("client", "nic_tx"): 0.5}
    assert limit(made(0.8, 0.7, plan=plan.model_copy(update={"endpoints": nics}), stalls=stalls)).kind == "link"
    assert limit(made(0.8, 0.7, stalls=stalls)).kind == "in-flight"


def test_a_load_that_was_sent_whole_is_the_limit():
    found = limit(opened(client=0.9, server=0.8))
    assert found.kind == "offered load" and "all that was due was sent, and got a response" in found.words


def test_messages_that_are_lost_do_not_change_that():
    found = limit(opened(client=0.9, server=0.8, loads={"lost": 5000, "responses": 495_000}))
    assert found.kind == "offered load" and "1.00% of it was lost" in found.words


def test_an_overload_is_one_of_a_worker():
    found = limit(opened(client=0.4, server=0.01, loads={"offered": 700_000}))
    assert (found.kind, found.workers) == ("worker", [SERVER])


def test_without_timed_calls_nothing_is_known():
    found = diagnose(made(windows=0))
    assert found.limit.kind == "unknown" and "no window was measured" in found.limit.words


def test_few_windows_have_no_interval():
    found = limit(made(windows=3))
    assert found.kind == "unknown" and "3 windows are too few" in found.words


def test_an_invalid_run_is_read_and_the_host_is_a_limit():
    bad = Check(name="windows", state="bad", words="10 of 12 windows excluded")
    run = made(
        verdict=Verdict(False, ["windows: 10 of 12 windows excluded"]), validity=Validity(checks=[bad], excluded=[])
    )
    found = limit(run)
    assert found.kind == "host" and found.evidence == ["windows: 10 of 12 windows excluded"]


def test_a_server_alone_does_not_know_its_client():
    run = made(server=0.8, plan=sample.plan(("server",)))
    assert limit(run).kind == "unknown"


def test_a_server_without_a_client_of_ours_waits_for_packets():
    assert limit(made(server=0.8, plan=sample.plan(("server",), wire="null"))).kind == "offered load"
    assert limit(made(server=0.0, plan=sample.plan(("server",), wire="null"))).kind == "worker"


@pytest.mark.parametrize("share", [0.0, 0.001, 0.3])
def test_time_waited_for_room_is_slack_too(share):
    run = made(client=0.4, server=share, stalls={("server", "nic_tx"): 0.9})
    (server,) = [worker for worker in diagnose(run).workers if worker.worker == SERVER]
    assert server.slack.mean == pytest.approx(share, rel=0.02, abs=1e-6)


def test_an_imported_run_has_no_slack():
    about = {"tool": "axio", "file": "a.log", "sha256": "0", "at": "2026-01-01T00:00:00Z"}
    imported = Imported(**about, stages=[], ports=[], values=[])
    run = made()
    run = type(run)(run.path, run.record.model_copy(update={"engines": [], "imported": imported}), {})
    found = diagnose(run)
    assert found.limit.kind == "unknown" and found.untold and found.workers == []


def waiting(fastest_ns, first_ns=100_000):
    """Workers with slack; the fastest message of each window takes so long, and that of the first one, which is in no metric, less."""
    run = made(client=0.8, server=0.7)

    def timed(window, ns):
        seen = sample.histogram([ns, 2 * ns], times=1000)
        return window.model_copy(
            update={"workloads": [w.model_copy(update={"latency_sent": seen}) for w in window.workloads]}
        )

    ((name, (first, *rest)),) = run.windows.items()
    warmup = timed(first, first_ns).model_copy(update={"phase": "warmup"})
    return type(run)(run.path, run.record, {name: [warmup, *(timed(window, fastest_ns) for window in rest)]})


def test_messages_that_wait_for_most_of_their_latency_wait_for_a_link():
    found = limit(waiting(300_000))
    assert found.kind == "link" and "for 67% of its latency" in found.evidence[-1]
    assert limit(waiting(190_000)).kind == "in-flight"
    assert limit(waiting(100_000)).kind == "in-flight"
