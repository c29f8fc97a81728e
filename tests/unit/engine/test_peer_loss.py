"""Two engines of one run: what happens to the one when the other ends, in whatever way."""

import os
import signal

import pytest
from fake_runs import CLIENT, SERVER, behave
from sample_plan import make_plan

from windtunnel.engine import supervisor
from windtunnel.engine.verdict import exit_code, judge

pytestmark = pytest.mark.slow


def test_two_engines_run_and_the_client_ends_the_server(spec, monkeypatch):
    behave(monkeypatch, "client=run server=until_stopped")
    finished = spec.run(make_plan(SERVER), make_plan(CLIENT))
    assert judge(finished).reasons == []
    assert finished.histories[0].result.reason == "stopped"
    assert {name for name, _ in spec.heard} == {"server", "client"}


def test_an_engine_that_dies_while_it_waits_for_its_link_is_started_again(spec, monkeypatch, tmp_path):
    """A stranger on the socket of a memif can bring the driver of its server down."""
    link = tmp_path / "link"
    monkeypatch.setenv("FAKE_MARK", str(tmp_path / "mark"))
    monkeypatch.setenv("FAKE_LINK", str(link))
    behave(monkeypatch, "client=run_when_linked server=crash_waiting_once")
    spec.listeners.append(lambda name, line, raw: link.touch() if (name, line.type) == ("server", "ready") else None)
    plans = [make_plan(side, kind="memif", socket=str(tmp_path / "wire.sock")) for side in (SERVER, CLIENT)]
    finished = spec.run(*plans)
    assert judge(finished).reasons == []
    assert [history.starts for history in finished.histories] == [2, 1]


@pytest.mark.parametrize(
    ("crash", "phase"), [("crash_waiting", "waiting for the link"), ("crash_opening_ports", "opening ports")]
)
@pytest.mark.parametrize(
    ("kind", "starts", "words"),
    [
        ("memif", 4, ", as in each of 4 starts: a program that is not the other side may connect to its socket"),
        ("ring", 1, ""),
    ],
)
def test_an_engine_is_started_again_within_bounds_and_where_it_can_be_reached(
    spec, monkeypatch, tmp_path, kind, starts, words, crash, phase
):
    behave(monkeypatch, f"client=until_stopped server={crash}")
    plans = [make_plan(side, kind=kind, socket=str(tmp_path / "wire.sock")) for side in (SERVER, CLIENT)]
    finished = spec.run(*plans)
    assert finished.histories[0].starts == starts
    assert f"engine died: SIGSEGV while {phase}{words} [server]" in judge(finished).reasons


@pytest.mark.parametrize(("client", "after"), [("run", ""), ("refuse", " after peer loss")])
def test_an_engine_without_a_client_is_not_started_again(spec, monkeypatch, tmp_path, client, after):
    behave(monkeypatch, f"client={client} server=crash_waiting_when_stopped")
    plans = [make_plan(side, kind="memif", socket=str(tmp_path / "wire.sock")) for side in (SERVER, CLIENT)]
    finished = spec.run(*plans)
    assert finished.histories[0].starts == 1
    assert f"engine died: SIGSEGV{after or ' while waiting for the link'} [server]" in judge(finished).reasons


def test_server_is_told_as_soon_as_its_client_has_ended(spec, monkeypatch, tmp_path):
    """The client holds its port until the server's result is there."""
    mark = tmp_path / "mark"
    monkeypatch.setenv("FAKE_MARK", str(mark))
    behave(monkeypatch, "client=hold_port server=until_stopped")
    spec.listeners.append(lambda name, line, raw: mark.touch() if (name, line.type) == ("server", "result") else None)
    finished = spec.run(make_plan(SERVER), make_plan(CLIENT))
    assert judge(finished).reasons == []
    assert spec.heard.index(("server", "result")) < spec.heard.index(("client", "result"))


def test_server_that_ends_first_leaves_the_client_its_time(spec, monkeypatch):
    behave(monkeypatch, "client=run server=run")
    finished = spec.run(make_plan(SERVER), make_plan(CLIENT, duration_ms=200))
    assert judge(finished).reasons == []
    assert finished.histories[1].result.reason == "duration"


def test_client_that_is_gone_before_its_server_is_told(spec, monkeypatch):
    behave(monkeypatch, "client=run server=see_peer_go")
    finished = spec.run(make_plan(SERVER), make_plan(CLIENT))
    assert judge(finished).reasons == []
    assert finished.histories[0].result.reason == "peer lost"


def test_a_killed_peer_ends_the_survivor_in_order(spec, monkeypatch):
    behave(monkeypatch, "client=until_stopped server=until_stopped")
    pids, running = {}, set()

    def listen(name, line, raw):
        if line.type == "hello":
            pids[name] = line.pid
        if line.type == "window":
            running.add(name)
        if len(running) == 2 and "server" in pids:
            os.kill(pids.pop("server"), signal.SIGKILL)

    spec.listeners.append(listen)
    verdict = judge(spec.run(make_plan(SERVER), make_plan(CLIENT)))
    assert verdict.reasons[0].startswith("engine died: SIGKILL while running, after window ")
    assert verdict.reasons[0].endswith(" [server]")
    assert ("client", "result") in spec.heard


@pytest.mark.parametrize(
    ("behaviour", "grace_s", "expected"),
    [
        ("lose_peer", 60.0, "peer lost: the engine saw the other side go [server]"),
        ("stubborn", 0.1, "peer lost: its peer was lost [server]"),
        ("crash_when_stopped", 60.0, "engine died: SIGSEGV after peer loss [server]"),
    ],
)
def test_survivor_of_a_crash(spec, monkeypatch, behaviour, grace_s, expected):
    monkeypatch.setattr(supervisor, "PEER_GRACE_S", grace_s)
    behave(monkeypatch, f"client=crash_running server={behaviour}")
    verdict = judge(spec.run(make_plan(SERVER), make_plan(CLIENT, duration_ms=10_000)))
    assert sorted(verdict.reasons) == sorted([expected, "engine died: SIGSEGV while running, after window 0 [client]"])


def test_refusal_of_one_of_two(spec, monkeypatch):
    behave(monkeypatch, "client=until_stopped server=refuse")
    finished = spec.run(make_plan(SERVER), make_plan(CLIENT))
    verdict = judge(finished)
    assert verdict.reasons[0] == "engine refused: no interface wt0 (ip link add wt0 type veth) [server]"
    assert exit_code(finished, verdict) == 2
