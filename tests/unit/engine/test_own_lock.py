"""Locks that no other user takes: of a study, a daemon, a journal and a claim."""

import os

import pytest

from windtunnel.engine import own_lock
from windtunnel.measure.study import directory
from windtunnel_sharing import claims, left_behind
from windtunnel_sharing.daemon import lock


def claimed(path):
    return claims.claimed([0], path / "a.journal")


LOCKS = {
    directory.LOCK: directory.opened,
    lock.LOCK: lambda path: lock.only_one(path, []),
    left_behind.LOCK: lambda path: left_behind.locked(path / "a.journal"),
    "windtunnel/cpu0.lock": claimed,
}


@pytest.mark.parametrize("name", LOCKS)
@pytest.mark.parametrize("earlier", [None, 0o644, 0o606, 0o4644])
def test_the_file_of_a_lock_is_opened_by_its_owner_alone(tmp_path, monkeypatch, name, earlier):
    """Whoever may read it may lock it. `earlier`: the mode of a file that somebody gave to others."""
    monkeypatch.setenv("RUNTIME_DIRECTORY", str(tmp_path / "own"))
    file = tmp_path / "own" / name
    for above in (tmp_path / "own", file.parent):
        above.mkdir(exist_ok=True)
        above.chmod(0o755)
    if earlier is not None:
        file.touch()
        file.chmod(earlier)
    before = os.umask(0)
    try:
        with LOCKS[name](tmp_path / "own"):
            assert file.stat().st_mode & 0o7777 == 0o600
    finally:
        os.umask(before)


def test_one_has_the_lock_at_a_time_and_the_last_copy_of_its_descriptor_keeps_it(tmp_path):
    first, second = (own_lock.open_own(tmp_path / "lock") for _ in range(2))
    copy = os.dup(first)
    own_lock.take(first)
    own_lock.take(first)
    for held in (first, copy):
        with pytest.raises(BlockingIOError):
            own_lock.take(second, patience_s=0.01)
        os.close(held)
    own_lock.take(second)
    os.close(second)


def test_a_link_is_no_lock(tmp_path):
    (tmp_path / "lock").symlink_to(tmp_path / "made")
    with pytest.raises(OSError, match="symbolic links"):
        own_lock.open_own(tmp_path / "lock")
    assert not (tmp_path / "made").exists()
