"""A thread is changed by one holder at a time."""

from contextlib import closing

import pytest
from journal_tools import entry_of
from sharing_tools import needs_rights, tenant

from windtunnel_sharing import journal, other_holders, threads
from windtunnel_sharing.changed_threads import Journal
from windtunnel_sharing.claims import claimed
from windtunnel_sharing.threads import CannotChange, Process

pytestmark = pytest.mark.slow


def held_by(pid, path):
    """The open journal of a process."""
    path.parent.mkdir(parents=True, exist_ok=True)
    contents = journal.Contents(holder=Process.of(pid))
    return journal.File(path, contents), contents


@needs_rights
@pytest.mark.parametrize("where", ["default", "elsewhere"])
def test_what_another_holder_changes_is_changed_by_nobody_else_until_they_have_ended(tmp_path, monkeypatch, where):
    """Each would take the other's change for how the thread ran, and it would have that for ever."""
    monkeypatch.setenv("RUNTIME_DIRECTORY", str(tmp_path / "run"))
    monkeypatch.setattr(other_holders, "REST", 0)
    theirs = tmp_path / "run/windtunnel/share/a.journal" if where == "default" else tmp_path / "state/a.journal"
    with tenant() as holder, tenant() as one, tenant() as two, closing(Journal(tmp_path / "my.journal")) as mine:
        mine.change(one.pid, nice=3)
        with closing(held_by(holder.pid, theirs)[0]) as file, claimed([0], theirs):
            contents = journal.read(theirs)
            file.add(contents, journal.line_of(entry_of(two.pid, threads.read(two.pid), {})))
            with pytest.raises(CannotChange, match=f"process {two.pid} is shared by process {holder.pid}") as refused:
                mine.change(two.pid, nice=4)
            assert refused.value.tid == two.pid and mine.tids == [one.pid]
            file.add(contents, {"is": "back", "tid": two.pid})
            mine.change(two.pid, nice=4)
            mine.put_back(two.pid)
            file.add(contents, journal.line_of(entry_of(two.pid, threads.read(two.pid), {}, earlier=1)))
            mine.change(two.pid, nice=4)
            mine.put_back(two.pid)
            file.add(contents, journal.line_of(entry_of(two.pid, threads.read(two.pid), {})))
            with pytest.raises(CannotChange):
                mine.change(two.pid, nice=4)
            holder.kill()
            holder.wait()
            mine.change(two.pid, nice=4)


def test_journals_are_looked_at_for_a_part_of_the_time_and_read_once(tmp_path, monkeypatch):
    """Another daemon may have thousands of threads."""
    monkeypatch.setenv("RUNTIME_DIRECTORY", str(tmp_path / "run"))
    clock, asked, read = [0.0], [], journal.read
    with tenant() as holder, closing(held_by(holder.pid, tmp_path / "run/windtunnel/a.journal")[0]):
        found = threads.stat(holder.pid)
        monkeypatch.setattr(other_holders.time, "monotonic", lambda: clock.append(clock[-1] + 1) or clock[-1])
        monkeypatch.setattr(journal, "read", lambda path: asked.append(path) or read(path))
        others = other_holders.OtherHolders(tmp_path / "run/windtunnel/my.journal")
        paths = []
        listed = other_holders.left_behind.journals
        monkeypatch.setattr(other_holders.left_behind, "journals", lambda: paths.append(listed()) or listed())
        for _ in range(20):
            others.check(holder.pid, found)
    assert len(asked) == 1 and len(paths) == 2


def test_a_journal_that_cannot_be_read_hides_no_other_one(tmp_path, monkeypatch):
    """Also where nobody has foreseen what is wrong with it."""
    monkeypatch.setenv("RUNTIME_DIRECTORY", str(tmp_path / "run"))
    read, bad = journal.read, tmp_path / "run/windtunnel/a.journal"
    with (
        tenant() as holder,
        closing(held_by(holder.pid, bad)[0]),
        closing(held_by(holder.pid, bad.with_name("b.journal"))[0]) as file,
    ):
        contents = journal.read(file.path)
        file.add(contents, journal.line_of(entry_of(holder.pid, threads.read(holder.pid), {})))
        monkeypatch.setattr(journal, "read", lambda path: read(path) if path != bad else 1 // 0)
        others = other_holders.OtherHolders(tmp_path / "run/windtunnel/my.journal")
        with pytest.raises(CannotChange, match=f"is shared by process {holder.pid}"):
            others.check(holder.pid, threads.stat(holder.pid))
