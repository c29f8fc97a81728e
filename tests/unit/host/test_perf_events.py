"""Events of threads: names as perf has them, refusals in words, and resctrl in a directory that is like the kernel's."""

import errno
import os
import struct
import threading

import pytest

from windtunnel.host import perf_events, resctrl
from windtunnel.host.perf_events import Event, Reading, Refused


@pytest.mark.parametrize(
    ("name", "kind", "config"),
    [
        ("cycles", 0, 0), ("instructions", 0, 1), ("cache-misses", 0, 3), ("ref-cycles", 0, 9), ("task-clock", 1, 1),
        ("context-switches", 1, 3), ("cpu-migrations", 1, 4), ("major-faults", 1, 6),
        ("L1-dcache-loads", 3, 0), ("LLC-loads", 3, 2), ("LLC-load-misses", 3, 2 | 1 << 16), ("LLC-stores", 3, 2 | 1 << 8),
        ("dTLB-store-misses", 3, 3 | 1 << 8 | 1 << 16), ("L1-icache-prefetches", 3, 1 | 2 << 8),
    ],
)  # fmt: skip
def test_names_have_the_numbers_of_perf_event_h(name, kind, config):
    assert perf_events.EVENTS[name] == (kind, config)


def test_raw_events_are_known_too():
    assert perf_events.known("r01c2") and perf_events.known("cycles")
    assert not any(map(perf_events.known, ("r", "rxyz", "r12345678901234567", "Cycles", "", "cycles:u")))


def opened_with(monkeypatch, *results):
    """Events whose descriptors, or errors, are these; returns what was asked."""
    asked, left = [], list(results)

    def fake(name, thread, with_kernel):
        asked.append((name, thread, with_kernel))
        result = left.pop(0)
        if isinstance(result, int):
            raise OSError(result, os.strerror(result))
        return result

    monkeypatch.setattr(perf_events, "_open", fake)
    return asked


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (errno.ENOENT, "this processor or virtual machine has no such counter"),
        (errno.EOPNOTSUPP, "this processor or virtual machine has no such counter"),
        (errno.ESRCH, "the thread has ended"),
        (errno.EINVAL, "this processor does not take the event"),
        (errno.EMFILE, "too many open files: ask for fewer events"),
        (errno.ENOSYS, "this kernel has no perf_event_open, or a container forbids it"),
    ],
)
def test_a_refusal_in_words(monkeypatch, code, words):
    opened_with(monkeypatch, code)
    with pytest.raises(Refused, match=words):
        Event("cycles")


@pytest.mark.parametrize("code", [errno.EACCES, errno.EPERM])
def test_without_permission_for_the_kernels_part_it_is_left_out(monkeypatch, code):
    asked = opened_with(monkeypatch, code, "fd")
    assert Event("cycles", 17).user_only
    assert asked == [("cycles", 17, True), ("cycles", 17, False)]


def test_without_any_permission_it_says_what_to_set(monkeypatch):
    opened_with(monkeypatch, errno.EACCES, errno.EACCES)
    with pytest.raises(Refused, match="sysctl kernel.perf_event_paranoid=2"):
        Event("cycles")


@pytest.mark.parametrize("name", ["context-switches", "cpu-migrations"])
def test_what_happens_in_the_kernel_alone_is_absent_without_it_and_not_zero(monkeypatch, name):
    asked = opened_with(monkeypatch, errno.EACCES)
    with pytest.raises(Refused, match="sysctl kernel.perf_event_paranoid=1"):
        Event(name)
    assert len(asked) == 1


def test_a_thread_of_this_process_is_counted_for_real():
    ready, go = threading.Event(), threading.Event()
    thread = threading.Thread(target=lambda: (ready.set(), go.wait(), bytearray(1 << 24)))
    thread.start()
    ready.wait()
    try:
        with Event("page-faults", thread.native_id) as faults:
            before = faults.read()
            go.set()
            thread.join()
            added = faults.read().since(before)
    except Refused as refused:
        pytest.skip(f"no event here: {refused}")
    finally:
        go.set()
        thread.join()
    assert added.value > 0 and added.enabled_ns > 0 and added.running_ns == added.enabled_ns


def test_a_counter_that_wrapped():
    assert Reading(5, 30, 20).since(Reading(2**64 - 10, 10, 10)) == Reading(15, 20, 10)


def test_a_short_read_is_refused():
    read, write = os.pipe()
    os.write(write, struct.pack("=QQ", 1, 2))
    os.close(write)
    event = Event.__new__(Event)
    event.name, event._fd = "cycles", read
    with pytest.raises(Refused, match="it cannot be read"):
        event.read()
    event.close()


@pytest.fixture
def root(tmp_path):
    (tmp_path / "mon_groups").mkdir()
    return tmp_path


def shows(group, **files):
    for cache in ("mon_L3_00", "mon_L3_01"):
        (group / "mon_data" / cache).mkdir(parents=True)
        for name, text in files.items():
            (group / "mon_data" / cache / name).write_text(text)


def test_resctrl_counts_a_thread_over_all_caches(root):
    group = resctrl.Group(4711, root)
    assert (root / "mon_groups" / "windtunnel-4711" / "tasks").read_text() == "4711"
    shows(root / "mon_groups" / "windtunnel-4711", llc_occupancy="1048576\n", mbm_total_bytes="Unavailable\n")
    assert group.read("llc-occupancy") == 2 << 20
    with pytest.raises(Refused, match='the kernel says "Unavailable"'):
        group.read("mbm-total")
    with pytest.raises(Refused, match="this processor does not count it"):
        group.read("mbm-local")


def test_resctrl_that_is_not_mounted_says_how(tmp_path):
    with pytest.raises(Refused, match="mount -t resctrl"):
        resctrl.Group(1, tmp_path)


@pytest.mark.parametrize(
    ("code", "words"), [(errno.ENOSPC, "no monitoring id is free"), (errno.EACCES, "root may make groups")]
)
def test_resctrl_that_refuses_a_group(root, monkeypatch, code, words):
    def refuse(*_):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(resctrl.Path, "mkdir", refuse)
    with pytest.raises(Refused, match=words):
        resctrl.Group(1, root)


def test_a_group_that_cannot_be_filled_is_removed(root, monkeypatch):
    def refuse(*_):
        raise OSError(errno.EPERM, "no")

    monkeypatch.setattr(resctrl.Path, "write_text", refuse)
    with pytest.raises(Refused):
        resctrl.Group(1, root)
    assert not list((root / "mon_groups").iterdir())
