"""Announcements: who reads is told everything, and costs who speaks nothing."""

import os
import socket
import stat
import subprocess
import sys
import threading
from contextlib import suppress

import pytest
from live_tools import LiveReader, awaited

from windtunnel.live import places, publisher
from windtunnel.live.publisher import Publisher


@pytest.fixture
def runtime(tmp_path, monkeypatch):
    monkeypatch.setenv("RUNTIME_DIRECTORY", str(tmp_path))
    return tmp_path


@pytest.fixture
def stopped():
    return threading.Event()


@pytest.fixture
def published(runtime, stopped):
    of = Publisher(places.socket_path(os.getpid()), b'{"live":1}\n', stopped.set)
    yield of
    of.close()


def path():
    return places.socket_path(os.getpid())


def test_a_socket_is_its_owners_alone(published):
    assert stat.S_IMODE(path().stat().st_mode) == 0o600
    assert stat.S_IMODE(path().parent.stat().st_mode) == 0o700
    assert places.announced() == [path()]


def test_who_comes_late_is_told_everything_from_the_beginning(published):
    published.publish(1, b'{"begins":1}\n')
    published.publish(1, b'{"window":1}\n', window=True)
    with LiveReader(path()) as reader:
        assert [reader.line() for _ in range(3)] == [{"live": 1}, {"begins": 1}, {"window": 1}]
        published.publish(1, b'{"window":2}\n', window=True)
        assert reader.line() == {"window": 2}


def test_nobody_is_told_a_line_twice(published):
    with LiveReader(path()) as first:
        assert first.line() == {"live": 1}
        for number in range(200):
            published.publish(1, b'{"n":%d}\n' % number)
        with LiveReader(path()) as second:
            assert second.line() == {"live": 1}
            for reader in (first, second):
                assert [reader.line() for _ in range(200)] == [{"n": number} for number in range(200)]


def test_old_windows_are_forgotten_and_the_beginning_is_not(published, monkeypatch):
    monkeypatch.setattr(publisher, "KEPT_BYTES", 30)
    published.publish(1, b'{"begins":1}\n')
    for number in range(10):
        published.publish(1, b'{"window":%d}\n' % number, window=True)
    published.publish(1, b'{"ended":1}\n')
    with LiveReader(path()) as reader:
        told = [reader.line() for _ in range(5)]
    assert told == [{"live": 1}, {"begins": 1}, {"ended": 1}, {"window": 8}, {"window": 9}]


def test_a_run_that_is_over_is_told_to_nobody(published):
    published.publish(1, b'{"n":1}\n')
    published.publish(2, b'{"n":2}\n')
    published.forget(1)
    with LiveReader(path()) as reader:
        assert [reader.line(), reader.line()] == [{"live": 1}, {"n": 2}]


def test_a_reader_may_stop_it(published, stopped):
    with LiveReader(path()) as reader:
        reader.socket.sendall(b"st")
        reader.socket.sendall(b"op\n")
        assert stopped.wait(20)


def test_a_reader_who_says_something_else_is_let_go(published, stopped):
    with LiveReader(path()) as reader:
        reader.socket.sendall(b"GET / HTTP/1.1\r\n\r\n")
        with suppress(ConnectionResetError):
            awaited(lambda: reader.line() is None)
    assert not stopped.is_set()


def test_a_reader_who_takes_nothing_is_cut_off(published, monkeypatch):
    monkeypatch.setattr(publisher, "MOST_PENDING_BYTES", 1 << 20)
    with LiveReader(path()) as slow, LiveReader(path()) as quick:
        assert quick.line() == {"live": 1}
        for number in range(64):  # and who speaks does not wait for it
            published.publish(1, b'{"n":%d,"x":"%s"}\n' % (number, b"x" * 65536), window=True)
            assert quick.line()["n"] == number
        awaited(lambda: len(published._readers) == 1)
        slow.socket.settimeout(5)
        with suppress(ConnectionResetError):
            while slow.socket.recv(1 << 20):
                pass
    awaited(lambda: not published._readers)


def test_more_readers_than_there_is_room_for_are_refused(published):
    readers = [LiveReader(path()) for _ in range(publisher.MOST_READERS)]
    for reader in readers:
        assert reader.line() == {"live": 1}
    with LiveReader(path()) as one_more:
        assert one_more.line() is None
    for reader in readers:
        reader.__exit__()


def test_the_kernel_says_whose_it_is(published):
    with LiveReader(path()) as reader:
        assert places.peer(reader.socket) == (os.getpid(), os.geteuid())
    assert places.may_meet(os.geteuid()) and not places.may_meet(12345)


def test_the_end_removes_the_socket(runtime):
    with_reader = Publisher(path(), b'{"live":1}\n', lambda: None)
    with LiveReader(path()) as reader:
        assert reader.line() == {"live": 1}
        with_reader.publish(1, b'{"ended":1}\n')
        with_reader.close()
        assert not path().exists()
        assert [reader.line(), reader.line()] == [{"ended": 1}, None]


def killed_publisher():
    """A process that announced itself and was killed."""
    code = (
        "import os\nfrom windtunnel.live import places\nfrom windtunnel.live.publisher import Publisher\n"
        "Publisher(places.socket_path(os.getpid()), b'', print)\nos.kill(os.getpid(), 9)"
    )
    subprocess.run([sys.executable, "-c", code], check=False)


@pytest.mark.slow
def test_sockets_of_killed_processes_are_removed_and_those_of_living_ones_left(published):
    killed_publisher()
    (left,) = set(places.announced()) - {path()}
    assert places.remove_stale(left)
    killed_publisher()
    places.remove_all_stale()
    assert not places.remove_stale(path())
    assert places.announced() == [path()]


@pytest.mark.parametrize("kind", ["file", "link to a file", "link to a dead socket", "directory", "FIFO"])
def test_only_a_socket_is_a_stale_one(tmp_path, kind):
    path, target = tmp_path / "name", tmp_path / "target"
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(os.fspath(target)) if kind == "link to a dead socket" else target.write_text("precious")
    match kind:
        case "file":
            path.write_text("precious")
        case "directory":
            path.mkdir()
        case "FIFO":
            os.mkfifo(path)
        case _:
            path.symlink_to(target)
    before = path.lstat().st_ino
    assert not places.remove_stale(path) and path.lstat().st_ino == before and target.exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_a_stale_socket_of_another_user_stays(tmp_path):
    path = tmp_path / "name"
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(os.fspath(path))
    os.chown(path, 54321, -1)
    assert not places.remove_stale(path) and path.exists()
    os.chown(path, 0, -1)
    assert places.remove_stale(path) and not path.exists()


def test_a_directory_of_another_user_has_no_announcements(runtime):
    (runtime / "windtunnel").mkdir()
    (runtime / "windtunnel").chmod(0o777)
    with socket.socket(socket.AF_UNIX) as planted:
        planted.bind(str(runtime / "windtunnel" / "x.sock"))
        assert places.announced() == []
