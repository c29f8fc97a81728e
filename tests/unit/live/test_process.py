"""A process that runs announces itself, whatever it can or cannot open."""

import json
import os
import signal
import socket
from types import SimpleNamespace

import pytest
from live_tools import LiveReader

from windtunnel.live import places
from windtunnel.live.process import LIBRARY, Announcement, stop

SPEC = SimpleNamespace(
    title="echo",
    question="how fast?",
    notes=["a note"],
    resolved={"client": {"rate": 1}},
    names=["windtunnel"],
    plans=[],
)
WINDOW = SimpleNamespace(type="window")


@pytest.fixture(autouse=True)
def runtime(tmp_path, monkeypatch):
    monkeypatch.setenv("RUNTIME_DIRECTORY", str(tmp_path))
    return tmp_path


def told() -> LiveReader:
    """A reader of what this process announces."""
    return LiveReader(places.socket_path(os.getpid()))


def test_a_run_is_told_from_its_beginning_to_its_verdict(tmp_path):
    announcement = Announcement()
    with announcement.command("study"), announcement.running(SPEC, tmp_path / "r") as run:
        run.line("windtunnel", WINDOW, '{"type":"window","index":0}\n')
        with told() as reader:
            about, begins, window = reader.line(), reader.line(), reader.line()
            run.ended(SimpleNamespace(valid=False, reasons=["too short"]))
            ended = reader.line()
    assert (about["kind"], about["pid"], about["live"]) == ("study", os.getpid(), 1)
    assert begins["begins"]["title"] == "echo" and begins["begins"]["directory"] == str(tmp_path / "r")
    assert window == {"run": 1, "of": "windtunnel", "type": "window", "index": 0}
    assert ended == {"run": 1, "ended": {"valid": False, "reasons": ["too short"]}}


def test_a_command_stays_announced_between_its_runs(tmp_path):
    announcement = Announcement()
    with announcement.command("search"):
        assert places.announced() == []  # nothing ran yet
        for _ in range(2):
            with announcement.running(SPEC, tmp_path):
                pass
            assert len(places.announced()) == 1
    assert places.announced() == []


def test_the_next_command_removes_what_killed_ones_left(tmp_path):
    left, unfinished, foreign = (
        places.socket_path(os.getpid()).with_name(name) for name in ("1.sock", "999999999.new", "x")
    )
    left.parent.mkdir(mode=0o700, parents=True)
    for path in (unfinished, foreign):
        path.touch()
    with socket.socket(socket.AF_UNIX) as killed:
        killed.bind(str(left))
    with Announcement().command("study", at_once=True):
        assert sorted(path.name for path in left.parent.iterdir()) == sorted([f"{os.getpid()}.sock", "x"])


def test_a_run_of_no_command_is_the_librarys(tmp_path):
    announcement = Announcement()
    with announcement.running(SPEC, tmp_path), told() as reader:
        assert reader.line()["kind"] == LIBRARY
    assert places.announced() == []


def test_a_daemon_is_announced_without_a_run_and_says_more_about_itself():
    daemon = Announcement().command("share serve", at_once=True, api="/run/share.sock")
    with daemon, told() as reader:
        about = reader.line()
    assert (about["kind"], about["api"]) == ("share serve", "/run/share.sock")
    assert places.announced() == []


def test_how_far_a_command_is_stands_until_it_is_told_anew(tmp_path):
    announcement = Announcement()
    with announcement.command("study"):
        announcement.progress(1, 60, "runs", 120.5)
        with told() as first:
            assert first.line()["kind"] == "study"
            assert first.line() == {"progress": {"done": 1, "of": 60, "unit": "runs", "left_s": 120.5}}
            announcement.progress(2, 60, "runs")
            assert first.line() == {"progress": {"done": 2, "of": 60, "unit": "runs", "left_s": None}}
        with told() as late, announcement.running(SPEC, tmp_path):
            assert [late.line() for _ in range(2)][1]["progress"]["done"] == 2
            assert "begins" in late.line()


def test_a_status_stands_beside_how_far_a_command_is():
    announcement = Announcement()
    with announcement.command("study"):
        announcement.progress(1, 60, "runs")
        announcement.status("lab", {"waiting": 9})
        announcement.status("lab", {"waiting": 8})
        with told() as late:
            _, progress, lab = [late.line() for _ in range(3)]
    assert progress["progress"]["done"] == 1
    assert lab == {"lab": {"waiting": 8}}


def test_how_far_is_told_to_nobody_where_nothing_is_announced():
    Announcement().progress(1, 2, "runs")
    assert places.announced() == []


@pytest.mark.parametrize("obstacle", ["a file in the way", "a path too long for a socket"])
def test_a_run_that_cannot_be_announced_runs(runtime, monkeypatch, obstacle):
    if obstacle == "a file in the way":
        (runtime / "windtunnel").write_text("")
    else:
        (runtime / ("d" * 100)).mkdir()
        monkeypatch.setenv("RUNTIME_DIRECTORY", str(runtime / ("d" * 100)))
    with Announcement().running(SPEC, runtime) as run:
        run.line("windtunnel", WINDOW, "{}")
        run.ended(SimpleNamespace(valid=True, reasons=[]))
    assert places.announced() == []


@pytest.mark.parametrize(
    ("handler", "number"), [(signal.default_int_handler, signal.SIGINT), (signal.SIG_IGN, signal.SIGTERM)]
)
def test_a_stop_is_a_ctrl_c_or_where_that_is_ignored_a_term(handler, number):
    seen = []
    before = signal.signal(signal.SIGINT, handler if handler == signal.SIG_IGN else lambda got, _: seen.append(got))
    term = signal.signal(signal.SIGTERM, lambda got, _: seen.append(got))
    try:
        stop()
    finally:
        signal.signal(signal.SIGINT, before)
        signal.signal(signal.SIGTERM, term)
    assert seen == [number]


def test_a_line_is_one_line_of_json(tmp_path):
    announcement = Announcement()
    with announcement.running(SPEC, tmp_path) as run:
        run.line('a "name"', WINDOW, '{"type":"window"}')
        with told() as reader:
            assert json.dumps(reader.until("of")["of"]) == '"a \\"name\\""'
