"""The journal: what of it is believed, how long it gets, and what happens where it cannot be written."""

import errno
import json
import os
import resource
from contextlib import closing, contextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st
from journal_tools import entry_of, recorded, refuses
from sharing_tools import cpu_cgroup, needs_rights, tenant

from windtunnel.errors import UserError
from windtunnel_sharing import inherited_changes, journal, left_behind, threads
from windtunnel_sharing.changed_threads import Journal
from windtunnel_sharing.threads import Process

pytestmark = pytest.mark.slow


@contextmanager
def no_room_after(count: int):
    """Files of this process end after so many bytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (count, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@needs_rights
def test_a_cgroup_of_any_name_is_restored(mine, one):
    """A tenant may have one made that is not UTF-8; one line of its journal is not everybody's."""
    with cpu_cgroup("windtunnel-test") as (hierarchy, group), cpu_cgroup(os.fsdecode(b"windtunnel-\xff")) as (_, own):
        threads.move(one.pid, hierarchy, own)
        before = threads.read(one.pid)
        mine.change(one.pid, cgroups={hierarchy: group})
        written = journal.read(mine.path).entries
        assert written[one.pid].before == before
        assert inherited_changes.put_back(list(written.values()), written) == []
        assert threads.read(one.pid) == before
        threads.move(one.pid, hierarchy, "/")


@needs_rights
def test_a_long_life_does_not_make_a_long_journal(path, one, monkeypatch):
    monkeypatch.setattr(journal, "MOST_LINES", 100)
    with closing(Journal(path)) as mine:
        before = threads.read(one.pid)
        for turn in range(300):
            mine.allow(one.pid, nice=[turn % 19, 5])
        assert len(path.read_bytes().splitlines()) <= 105
        mine.change(one.pid, nice=5)
        assert mine.put_back_all() == [] and threads.read(one.pid) == before


HEAD = json.dumps({"is": "journal", "version": 1, "boot": journal.boot(), "pid": 1, "started": 1}) + "\n"


def before_line(**fields) -> str:
    """A journal with the line of a thread that ran so."""
    return HEAD + json.dumps({"is": "before", "tid": 1, "pid": 1, "started": 1, "since": 1, "before": fields}) + "\n"


NO_NUMBERS = ("1e999", "NaN", "1.0", '"7"', "true", "null", "[1]")


@pytest.mark.parametrize(
    "text",
    [
        "{}\n",
        "[1]\n",
        "no json\n",
        '{"is": "journal", "version": 99}\n',
        HEAD + '{"is": "ours", "tid": 1}\n',
        *(
            f'{{"is": "before", "tid": {tid}, "pid": 1, "started": 1, "since": 1, "before": {{}}}}\n'
            for tid in NO_NUMBERS
        ),
        HEAD + '{"is": "helper", "pid": 1e999, "started": 1}\n',
        before_line(affinity="0"),
        before_line(affinity=[[0]]),
        before_line(policy=[0, 0]),
        before_line(policy=None),
        before_line(nice="5"),
        before_line(nice=1.5),
        before_line(runtime_ns=[1]),
        before_line(**{"cgroup cpu": 3}),
        before_line(colour=3),
        before_line(nice=5) + '{"is": "ours", "tid": 1, "values": {"nice": [[5]]}}\n',
        before_line(nice=5) + '{"is": "ours", "tid": [1], "values": {}}\n',
        HEAD + '{"is": "setting", "path": "/proc/sys/kernel/sched_autogroup_enabled", "before": 1}\n',
        "[" * 100_000 + "\n",
    ],
    ids=lambda text: text[-60:].strip(),
)
def test_what_is_no_journal_is_refused(path, text):
    path.write_text(text)
    with pytest.raises(UserError, match="not a journal"):
        left_behind.restore(path)


@pytest.mark.parametrize(
    "text",
    [
        before_line(affinity=[-1]),
        before_line(affinity=[1 << 70]),
        before_line(policy=[1 << 40, 0, 0]),
        before_line(policy=[2, 100, 0]),
        before_line(policy=[0, 0, 2]),
        before_line(nice=100_000),
        before_line(nice=-21),
        before_line(runtime_ns=1 << 80),
        before_line(runtime_ns=-1),
        before_line(**{"cgroup cpu": "/\0"}),
        before_line(**{"cgroup cpu": "/\ud800"}),
        HEAD + '{"is": "setting", "path": "/proc/sys/a\\u0000b", "before": "x"}\n',
        HEAD + '{"is": "setting", "path": "/proc/sys/\\ud800", "before": "x"}\n',
        HEAD + '{"is": "setting", "path": "/proc/sys/kernel/sched_autogroup_enabled", "before": "\\udcff"}\n',
        HEAD + '{"is": "helper", "pid": 0, "started": 1}\n',
        HEAD + '{"is": "helper", "pid": -1, "started": 1}\n',
        HEAD + HEAD,
    ],
    ids=lambda text: ascii(text[-60:].strip()),
)
def test_what_no_thread_and_no_file_has_is_refused_with_its_line(path, text):
    path.write_text(text)
    with pytest.raises(UserError) as refused:
        left_behind.restore(path)
    assert refused.value.message.startswith(f"{path}, line 2: not a journal: ") and "\n" not in refused.value.message


def test_what_comes_before_the_first_line_is_refused(path, one):
    """Nobody knows of which boot it is."""
    before = threads.read(one.pid)
    written = recorded(path, entry_of(one.pid, before | {"nice": 19}, {"nice": [before["nice"]]})).read_text()
    path.write_text(written.split("\n", 1)[1])
    with pytest.raises(UserError, match="line 1: not a journal: the first line, and no other one"):
        left_behind.restore(path)
    assert threads.read(one.pid) == before


def test_a_torn_last_line_and_another_boot_are_passed_over(path):
    entry = {"is": "before", "tid": 1, "pid": 1, "started": 1, "since": 1, "before": {"nice": 19}}
    other_boot = {"is": "journal", "version": 1, "boot": "another", "pid": 1, "started": 1}
    path.write_text(json.dumps(other_boot) + "\n" + json.dumps(entry) + "\n")
    assert journal.read(path).entries == {}
    path.write_text(json.dumps(other_boot | {"boot": journal.boot()}) + "\n" + json.dumps(entry)[:20])
    assert journal.read(path).entries == {}
    assert journal.read(path).holder == Process(1, 1)


@pytest.mark.parametrize(
    "setting", ["{}/profile", "/proc/sys/../..{}/profile", "/sys/kernel/debug/sched", "/proc/1/oom_adj"]
)
def test_a_journal_that_would_write_elsewhere_is_refused_before_anything_is_done(tmp_path, one, setting):
    (tmp_path / "profile").write_text("mine")
    name = setting.format(tmp_path)
    before = threads.read(one.pid)
    entry = entry_of(one.pid, before | {"nice": 19}, {"nice": [before["nice"]]})
    file = recorded(tmp_path / "b.journal", entry, settings={name: "theirs"})
    with pytest.raises(UserError, match=f"not a journal: {name} is not below /proc/sys"):
        left_behind.restore(file)
    assert threads.read(one.pid) == before
    with closing(Journal(tmp_path / "a.journal")) as mine, pytest.raises(ValueError, match="not below"):
        mine.set_setting(tmp_path / "profile", "mine", "theirs")
    assert (tmp_path / "profile").read_text() == "mine"


@needs_rights
@pytest.mark.parametrize("spare", [0, 30])
def test_what_cannot_be_recorded_is_not_changed(path, mine, one, spare):
    """With `spare` bytes left the disk takes a part of the line."""
    with tenant() as two:
        mine.change(two.pid, nice=2)
        before, text = threads.read(one.pid), path.read_bytes()
        for tid in (one.pid, two.pid):
            now = threads.read(tid)
            with no_room_after(len(text) + spare), pytest.raises(UserError, match="cannot be written") as refused:
                mine.change(tid, nice=11)
            assert "no thread is changed" in refused.value.remedy
            assert threads.read(tid) == now and path.read_bytes() == text
        with no_room_after(len(text) + spare), pytest.raises(UserError, match="cannot be written"):
            mine.allow(one.pid, nice=[11])
        assert mine.tids == [two.pid]
        mine.allow(one.pid, nice=[11])
        os.setpriority(os.PRIO_PROCESS, one.pid, 11)
        with no_room_after(0):
            assert mine.put_back_all() == []  # to restore needs no room
        assert threads.read(one.pid) == before and threads.read(two.pid)["nice"] == os.nice(0)


@needs_rights
def test_nothing_is_appended_to_half_a_line(path, mine, one, monkeypatch):
    """Of a disk that takes a part of a line, and does not let it be cut off."""
    with tenant() as two:
        mine.change(two.pid, nice=2)
        text = path.read_bytes()
        with monkeypatch.context() as full, no_room_after(len(text) + 30):
            full.setattr(os, "ftruncate", refuses(errno.EIO))
            with pytest.raises(UserError, match="cannot be written"):
                mine.change(one.pid, nice=11)
        assert len(path.read_bytes()) == len(text) + 30 and journal.read(path).entries.keys() == {two.pid}
        mine.change(one.pid, nice=11)
        assert journal.read(path).entries.keys() == {one.pid, two.pid}


@needs_rights
def test_a_thread_whose_cgroups_have_names_without_end_is_not_changed(mine, one, monkeypatch):
    """Their user chooses them: 4,096 threads had a journal of 67 MiB, which is not read any more."""
    before = threads.read(one.pid)
    monkeypatch.setattr(journal, "MOST_PATHS", 5)
    with pytest.raises(threads.CannotChange, match="the paths of its cgroups have") as refused:
        mine.change(one.pid, nice=11)
    assert refused.value.tid == one.pid and mine.tids == [] and threads.read(one.pid) == before


def test_a_journal_is_rewritten_when_it_is_long(path, monkeypatch):
    """Also if its lines are few: threads come and go."""
    monkeypatch.setattr(journal, "LEAST_BYTES", 4000)
    contents, lengths = journal.Contents(holder=Process.of(os.getpid())), []
    file = journal.File(path, contents)
    stays = {"is": "before", "tid": 1, "pid": 1, "started": 1, "since": 1, "before": {"cgroup cpu": "x" * 500}}
    file.add(contents, stays)
    for tid in range(2, 100):
        file.add(contents, stays | {"tid": tid}, {"is": "back", "tid": tid})
        lengths.append(path.stat().st_size)
    file.close()
    assert 3000 < max(lengths) < 5000 and list(journal.read(path).entries) == [1]


@needs_rights
def test_a_journal_that_cannot_be_rewritten_grows_on(path, one, monkeypatch):
    monkeypatch.setattr(journal, "MOST_LINES", 4)
    with closing(Journal(path)) as mine:
        before = threads.read(one.pid)
        journal.new_of(path).mkdir()
        for nice in range(1, 16):
            mine.change(one.pid, nice=nice)
        assert len(path.read_bytes().splitlines()) > 10 and journal.read(path).entries[one.pid].before == before
        journal.new_of(path).rmdir()
        for nice in range(-18, 0):
            mine.change(one.pid, nice=nice)
        assert len(path.read_bytes().splitlines()) < 20
        mine.put_back_all()
        assert threads.read(one.pid) == before


LINES = st.sampled_from(
    [
        {"is": "journal", "version": 1, "boot": journal.boot(), "pid": 1, "started": 1},
        {"is": "before", "tid": 7, "pid": 7, "started": 1, "since": 1, "before": {"nice": 5, "policy": [0, 0, 0]}},
        {"is": "ours", "tid": 7, "values": {"nice": [5]}},
        {"is": "setting", "path": "/proc/sys/kernel/sched_autogroup_enabled", "before": "1"},
        {"is": "helper", "pid": 7, "started": 1},
        {"is": "back", "tid": 7},
    ]
)


ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


@given(
    st.sampled_from([HEAD, HEAD, ""]),
    st.lists(
        st.builds(
            lambda line, at, value: json.dumps(line | {list(line)[at % len(line)]: value}),
            LINES,
            st.integers(0, 9),
            ANY,
        )
        | LINES.map(json.dumps)
        | st.text(max_size=30),
        max_size=6,
    ),
    st.binary(max_size=20),
)
def test_a_journal_of_anything_is_read_or_refused_in_words(tmp_path_factory, head, lines, torn):
    """It is believed by root: what is not of the right type is not taken."""
    path = tmp_path_factory.mktemp("journal") / "a.journal"
    path.touch(mode=0o600)
    path.write_bytes(head.encode() + "".join(f"{line}\n" for line in lines).encode(errors="replace") + torn)
    try:
        contents = journal.read(path)
    except UserError as error:
        assert "not a journal" in error.message
        return
    for entry in contents.entries.values():
        for name, value in [*entry.before.items(), *((n, v) for n, them in entry.ours.items() for v in them)]:
            assert isinstance(value, str) == name.startswith(threads.CGROUP), (name, value)
            assert isinstance(value, str | int) or (
                isinstance(value, tuple) and all(type(each) is int for each in value)
            )
    assert all(isinstance(text, str) for text in contents.settings.values())
