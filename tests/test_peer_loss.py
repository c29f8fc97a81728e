"""Two engines of one run: what happens to the one when the other ends, in whatever way."""

import os
import signal

import pytest
from flying import CLIENT, SERVER, behave
from sample_plan import make_plan

from windtunnel.engine.verdict import exit_code, judge


def test_two_engines_fly_and_the_client_ends_the_server(flight, monkeypatch):
    behave(monkeypatch, "client=fly server=cruise")
    flown = flight.fly(make_plan(SERVER), make_plan(CLIENT))
    assert judge(flown).reasons == []
    assert flown.histories[0].result.reason == "stopped"
    assert {name for name, _ in flight.heard} == {"server", "client"}


def test_server_is_told_as_soon_as_its_client_has_landed(flight, monkeypatch):
    behave(monkeypatch, "client=hold_port server=cruise")
    flown = flight.fly(make_plan(SERVER), make_plan(CLIENT))
    assert judge(flown).reasons == []
    assert flight.heard.index(("server", "result")) < flight.heard.index(("client", "result"))


def test_server_that_ends_first_leaves_the_client_its_time(flight, monkeypatch):
    behave(monkeypatch, "client=fly server=fly")
    flown = flight.fly(make_plan(SERVER), make_plan(CLIENT, duration_ms=200))
    assert judge(flown).reasons == []
    assert flown.histories[1].result.reason == "duration"


def test_client_that_is_gone_before_its_server_is_told(flight, monkeypatch):
    behave(monkeypatch, "client=fly server=see_peer_go")
    flown = flight.fly(make_plan(SERVER), make_plan(CLIENT))
    assert judge(flown).reasons == []
    assert flown.histories[0].result.reason == "peer lost"


def test_killed_peer_lands_the_survivor(flight, monkeypatch):
    behave(monkeypatch, "client=cruise server=cruise")
    pids, flying = {}, set()

    def listen(name, line, raw):
        if line.type == "hello":
            pids[name] = line.pid
        if line.type == "window":
            flying.add(name)
        if len(flying) == 2 and "server" in pids:
            os.kill(pids.pop("server"), signal.SIGKILL)

    flight.listeners.append(listen)
    verdict = judge(flight.fly(make_plan(SERVER), make_plan(CLIENT)))
    assert verdict.reasons[0].startswith("engine died: SIGKILL while flying, after window ")
    assert verdict.reasons[0].endswith(" [server]")
    assert ("client", "result") in flight.heard


@pytest.mark.parametrize(
    ("behaviour", "expected"),
    [
        ("lose_peer", "peer lost: the engine saw the other side go [server]"),
        ("stubborn", "peer lost: its peer was lost [server]"),
        ("crash_when_stopped", "engine died: SIGSEGV after peer loss [server]"),
    ],
)
def test_survivor_of_a_crash(flight, quick, monkeypatch, behaviour, expected):
    behave(monkeypatch, f"client=crash_flying server={behaviour}")
    verdict = judge(flight.fly(make_plan(SERVER), make_plan(CLIENT, duration_ms=10_000)))
    assert sorted(verdict.reasons) == sorted([expected, "engine died: SIGSEGV while flying, after window 0 [client]"])


def test_refusal_of_one_of_two(flight, quick, monkeypatch):
    behave(monkeypatch, "client=cruise server=refuse")
    flown = flight.fly(make_plan(SERVER), make_plan(CLIENT))
    verdict = judge(flown)
    assert verdict.reasons[0] == "engine refused: no interface wt0 (ip link add wt0 type veth) [server]"
    assert exit_code(flown, verdict) == 2
