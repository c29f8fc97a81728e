"""What a thread gets back that inherited a change: looked up, and what a search among all entries would find."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from windtunnel.sharing import entries as entries_
from windtunnel.sharing import sched
from windtunnel.sharing.entries import Entries, Entry
from windtunnel.sharing.families import Families, Family
from windtunnel.sharing.threads import Stat

FIELDS = {
    "nice": st.integers(-1, 1),
    "policy": st.sampled_from([(sched.OTHER, 0, 0), (sched.FIFO, 1, sched.RESET_ON_FORK)]),
}
BEFORE = st.fixed_dictionaries(FIELDS)
ENTRIES = st.lists(st.tuples(st.integers(1, 2), st.integers(0, 3), BEFORE, st.lists(BEFORE, max_size=2)), max_size=4)


def searched(entries, pid, now, born):
    """Of the entries of a process that are old enough, the first that says so of each field."""
    back = {}
    for entry in entries.values():
        for name in FIELDS if entry.pid == pid and entry.since - 1 <= born else ():
            ours = list(entry.ours.get(name, []))
            if name == "nice" and any(policy[2] for policy in entry.ours.get("policy", [])):
                ours.append(0)
            if name not in back and now[name] in ours and now[name] != entry.before[name]:
                back[name] = entry.before[name]
    return back


@settings(max_examples=50, deadline=None)
@given(ENTRIES, BEFORE, st.integers(0, 4), st.lists(st.integers(0, 5)))
def test_what_is_looked_up_is_what_a_search_finds(rows, now, born, forgotten):
    entries, since = Entries(), 0
    for tid, (pid, later, before, changes) in enumerate(rows):
        since += later
        entries[tid] = Entry(tid, pid, 0, since, before)
        for fields in changes:
            for name, value in fields.items():
                entries.allow(entries[tid], name, [value])
    for tid in forgotten:
        entries.pop(tid, None)
    again = Entries(entries.values())
    for pid in (1, 2):
        found = searched(entries, pid, now, born)
        assert Family(entries, pid).before(now, born) == Family(again, pid).before(now, born) == found
        assert list(entries.of(pid)) == [tid for tid, entry in entries.items() if entry.pid == pid]


def test_what_is_forgotten_leaves_nothing():
    entries = Entries([Entry(1, 1, 0, 0, {"nice": 3, "policy": (0, 0, 0)}, {"nice": [0, 6], "policy": [(1, 1, 1)]})])
    assert entries.of(1) and list(entries.handing_on(1, "nice", 0))
    entries[1] = Entry(1, 2, 0, 0, {"nice": 3})
    assert not entries.of(1) and not list(entries.handing_on(1, "nice", 0))
    del entries[1]
    assert not entries and entries == {} and not entries._of and not entries._handing_on


class Counted(list):
    """Entries that count who looks at them."""

    looks = 0

    def __iter__(self):
        for entry in super().__iter__():
            Counted.looks += 1
            yield entry


def test_of_many_that_may_have_handed_it_on_one_is_looked_at(monkeypatch):
    many = [Entry(tid, 1, 0, 0, {"nice": 0}, {"nice": [6]}) for tid in range(1000)]
    entries = Entries(many)
    monkeypatch.setattr(entries, "handing_on", lambda *_: Counted(many))
    assert Family(entries, 1).before({"nice": 6}, 5) == {"nice": 0} and Counted.looks == 1


def test_what_is_remembered_of_an_earlier_process_of_the_number_does_not_count():
    entries = Entries(Entry(since, 1, 0, since, {"nice": -since}, {"nice": [6]}) for since in (10, 20))
    assert Family(entries, 1, began=15).before({"nice": 6}, 30) == {"nice": -20}
    assert not Family(entries, 1, began=25).began_with(30)


OURS = {"cgroup cpu": "/shield", "nice": 6, "policy": (sched.OTHER, 0, 0), "runtime_ns": 0}
ROOT, USER, OTHER_USER = (0, 0, 0), (61871, 61871, 61871), (61872, 61872, 61872)
LEAST = {"policy": (sched.OTHER, 0, 0)}


def of_an_orphan(*tenants, users=USER):
    """What an orphan of a user gets. Each tenant: whose it is, its cgroup, its nice value and its policy before."""
    entries = Entries()
    for tid, (whose, path, nice, policy) in enumerate(tenants, 1):
        before = {"cgroup cpu": path, "nice": nice, "policy": policy, "runtime_ns": 100_000 * tid}
        entries[tid] = Entry(tid, tid, 0, tid, before, {name: [value] for name, value in OURS.items()}, whose)
    family = Families(entries).of(OURS, Stat(99, 0, 99, False, users))
    return family and family.before(OURS, 99)


FIFO = (sched.FIFO, 30, 0)
BATCH = (sched.BATCH, 0, 0)


@pytest.mark.parametrize(
    ("tenants", "gets"),
    [
        ([(USER, "/its", 5, BATCH)], {"cgroup cpu": "/its", "nice": 5, "policy": BATCH, "runtime_ns": 100_000}),
        ([(USER, "/its", -5, FIFO)], {"cgroup cpu": "/its", "nice": 0, "runtime_ns": 100_000}),
        ([(ROOT, "/roots", -15, FIFO)], {"cgroup cpu": "/roots", "nice": 0, "runtime_ns": 100_000}),
        ([(ROOT, "/", 3, FIFO), (USER, "/its", 5, BATCH)], {"cgroup cpu": "/its", "nice": 5, "policy": BATCH}),
        ([(USER, "/a/limited", 5, BATCH), (USER, "/", -5, BATCH)], {"cgroup cpu": "/a/limited", "nice": 5}),
        ([(ROOT, "/a/b", 5, FIFO), (OTHER_USER, "/a/c", 1, FIFO)], {"cgroup cpu": "/a", "nice": 5}),
        ([(ROOT, "/a/b", 5, FIFO), (OTHER_USER, "/c", 1, FIFO)], {"cgroup cpu": "/", "nice": 5}),
    ],
)
def test_an_orphan_gets_what_those_of_its_user_had_and_no_right_of_anybody(tenants, gets):
    found = of_an_orphan(*tenants)
    assert {name: found[name] for name in gets} == gets
    assert found.get("policy", LEAST["policy"]) in (LEAST["policy"], BATCH) and found["nice"] >= 0


def test_of_each_user_one_that_left_is_known_and_of_so_many_users_only(monkeypatch):
    monkeypatch.setattr(entries_, "MOST_LEFT", 2)
    entries = Entries(Entry(tid, tid // 2, 0, tid, {}, users=(tid // 4,)) for tid in range(16))
    for tid in range(16):
        del entries[tid]
    assert {users: entry.tid for users, entry in entries.left.items()} == {(2,): 10, (3,): 14}
