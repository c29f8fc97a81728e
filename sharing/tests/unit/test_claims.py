"""Claims of CPUs: one process at a time, and the next one finds the journal of the last one."""

import errno
import os
from pathlib import Path

import pytest
from journal_tools import left_in

from windtunnel.errors import UserError
from windtunnel_sharing import changed_threads, claims, journal, left_behind
from windtunnel_sharing.claims import claimed
from windtunnel_sharing.threads import Process


@pytest.fixture(autouse=True)
def runtime(tmp_path, monkeypatch):
    """The directory of the claims."""
    monkeypatch.setenv("RUNTIME_DIRECTORY", str(tmp_path / "run"))
    monkeypatch.setattr(claims, "RESTORING_S", 0)
    return tmp_path / "run" / "windtunnel"


@pytest.fixture
def elsewhere(tmp_path):
    """A directory in which nobody looks for journals."""
    (tmp_path / "state").mkdir()
    return tmp_path / "state"


def left(path):
    """A journal whose holder has ended, and its guardian with it."""
    journal.File(path, journal.Contents(holder=Process(1, 1))).close()
    return path


def test_a_cpu_is_claimed_by_one_at_a_time_and_no_claim_stays(elsewhere):
    with claimed([0, 1], elsewhere / "a.journal") as held:
        assert len(held) == 2
        before = os.listdir("/proc/self/fd")
        for cpus in ([1], [2, 1]):
            with pytest.raises(UserError, match="another daemon shares CPU 1"), claimed(cpus, elsewhere / "b.journal"):
                pass
        assert os.listdir("/proc/self/fd") == before
        with claimed([2], elsewhere / "b.journal"):
            pass
    with claimed([0, 1, 2], elsewhere / "b.journal"):
        pass


def test_a_journal_elsewhere_is_found_by_the_claim_and_restored_by_the_next_start(elsewhere):
    """Its holder and its guardian were killed, and the next daemon has another directory, or other CPUs."""
    with claimed([0, 1], left(elsewhere / "a.journal")):
        pass
    with claimed([1], left(elsewhere / "b.journal")):
        pass
    assert left_behind.journals() == [elsewhere / "a.journal", elsewhere / "b.journal"]
    told = []
    with claimed([1], elsewhere / "c.journal"):
        left_behind.restore_all(told.append)
    assert len(told) == 2 and not left_in(elsewhere)
    assert left_behind.journals() == []


def test_journals_that_are_gone_are_forgotten_once_all_are(runtime, elsewhere):
    file = runtime / "cpu0.lock"
    for name in "abcabc":
        with claimed([0], elsewhere / name):
            pass
    assert file.read_text() == f"{elsewhere / 'c'}\n"
    left(elsewhere / "c")
    for name in "dedc":
        with claimed([0], elsewhere / name):
            pass
    assert claims.journals(runtime) == {elsewhere / name for name in "cde"}
    assert len(file.read_text().split()) == 3
    os.unlink(elsewhere / "c")
    with claimed([0], elsewhere / "f"):
        pass
    assert file.read_text() == f"{elsewhere / 'f'}\n"


def test_half_a_line_names_nothing_and_takes_nothing_from_the_next(runtime, elsewhere):
    with claimed([0], left(elsewhere / "a.journal")):
        pass
    with (runtime / "cpu0.lock").open("ab") as file:
        file.write(os.fsencode(elsewhere / "b")[:-1])  # killed while it was written
    assert claims.journals(runtime) == {elsewhere / "a.journal"}
    with claimed([0], elsewhere / "c.journal"):
        assert {elsewhere / "a.journal", elsewhere / "c.journal"} <= claims.journals(runtime)


def test_a_claim_that_cannot_be_written_is_refused_in_words(monkeypatch, elsewhere):
    for call in ("open", "write"):
        real = getattr(os, call)

        def full(what, *arguments, real=real, **how):
            if isinstance(what, int) or Path(what).name == "cpu0.lock":
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return real(what, *arguments, **how)

        with monkeypatch.context() as patched:
            patched.setattr(claims.os, call, full)
            with (
                pytest.raises(UserError, match=r"cpu0\.lock: cannot be written: No space left"),
                claimed([0], elsewhere),
            ):
                pass
    with monkeypatch.context() as patched:
        patched.setattr(claims.os, "write", lambda fd, text: 3)
        with pytest.raises(UserError, match="No space left"), claimed([0], elsewhere):
            pass
    with claimed([0], elsewhere):
        pass


def test_who_holds_alone_claims_and_names_its_journal(runtime, elsewhere, monkeypatch):
    class NoGuardian:
        def __init__(self, path, say, claims):
            self.claims = claims

        def close(self):
            assert [os.fstat(claim).st_ino for claim in self.claims] == [(runtime / "cpu1.lock").stat().st_ino]

    monkeypatch.setattr(changed_threads, "Guardian", NoGuardian)
    with changed_threads.held_alone(elsewhere / "a.journal", [1]):
        assert claims.journals(runtime) == {elsewhere / "a.journal"}
        with pytest.raises(UserError, match="another daemon shares CPU 1"), claimed([1], elsewhere / "b.journal"):
            pass
