"""Programs that ran on some CPUs, from two looks at /proc."""

import os
import time

from hypothesis import given
from hypothesis import strategies as st

from windtunnel.host.other_programs import OTHER_RUN, SELF, Process, parse, ran, take_snapshot

TICKS = os.sysconf("SC_CLK_TCK")
OWN, ENGINE = 700, "windtunnel-engine"


def stat(pid, name, parent, ticks, started=5, cpu=1):
    """The line of /proc/PID/stat."""
    fields = ["S", parent, *[0] * 9, *ticks, *[0] * 4, started, *[0] * 16, cpu, *[0] * 13]
    return f"{pid} ({name}) {' '.join(map(str, fields))}\n"


def process(name="hog", parent=1, ticks=0, cpu=1):
    return Process(name, parent, ticks, cpu)


@given(name=st.text(min_size=1, max_size=15).filter(lambda name: "\x00" not in name))
def test_a_name_may_hold_anything(name):
    assert parse(stat(12, name, 1, (1, 20, 300, 4000))) == ((12, 5), Process(name, 1, 4321, 1))


def test_workers_of_the_kernel_have_one_name_each():
    assert parse(stat(12, "kworker/1:2-mm_percpu_wq", 2, (1, 0, 0, 0)))[1].name == "kworker/1:2"
    assert parse(stat(12, "my-hog", 1, (1, 0, 0, 0)))[1].name == "my-hog"


def test_this_process_is_seen_and_its_time_grows():
    before = take_snapshot()
    end = time.process_time() + 3 / TICKS
    while time.process_time() < end:
        pass
    after = take_snapshot()
    assert ran(before, after, os.sched_getaffinity(0), os.getpid(), ENGINE)[SELF] > 0


def test_time_is_that_between_the_looks_the_most_first():
    before = {(1, 5): process("a", ticks=900), (2, 5): process("b", ticks=100)}
    after = {(1, 5): process("a", ticks=900 + TICKS), (2, 5): process("b", ticks=100 + 2 * TICKS)}
    assert list(ran(before, after, {1}, OWN, ENGINE).items()) == [("b", 2.0), ("a", 1.0)]


def test_programs_of_one_name_are_added_and_new_ones_count():
    after = {(1, 5): process(ticks=TICKS), (2, 5): process(ticks=TICKS), (3, 5): process("idle")}
    assert ran({}, after, {1}, OWN, ENGINE) == {"hog": 2.0}


def test_another_process_with_the_same_id_is_another():
    assert ran({(51, 5): process(ticks=9 * TICKS)}, {(51, 6): process(ticks=TICKS)}, {1}, OWN, ENGINE) == {"hog": 1.0}


def test_programs_on_other_cpus_are_left_out_and_those_that_moved_are_not():
    before = {(1, 5): process("moved", cpu=1), (2, 5): process("far", cpu=3)}
    after = {(1, 5): process("moved", ticks=TICKS, cpu=3), (2, 5): process("far", ticks=TICKS, cpu=3)}
    assert ran(before, after, {0, 1}, OWN, ENGINE) == {"moved": 1.0}


def test_another_child_of_this_process_counts():
    assert ran({}, {(2, 5): process("hog", parent=OWN, ticks=TICKS)}, {1}, OWN, ENGINE) == {"hog": 1.0}
    assert ran({}, {(2, 5): process("windtunnel-engi", parent=9, ticks=TICKS)}, {1}, OWN, ENGINE) != {}


def test_the_engines_are_left_out_and_this_process_has_its_own_name():
    after = {
        (OWN, 5): process("python3", ticks=TICKS),
        (2, 5): process("windtunnel-engi", parent=OWN, ticks=99 * TICKS),
    }
    assert ran({}, after, {1}, OWN, ENGINE) == {SELF: 1.0}


def test_an_engine_below_its_guard_is_left_out_and_one_below_another_guard_is_not():
    """A guard has the time of its engine once that has ended."""
    guards = {(2, 5): process("wt-guard", OWN, 7 * TICKS), (3, 5): process("wt-guard", 9, 2 * TICKS)}
    engines = {(n, 5): process("windtunnel-engi", parent=n - 2, ticks=TICKS * n) for n in (4, 5)}
    assert ran({}, guards | engines, {1}, OWN, ENGINE) == {OTHER_RUN: 7.0}


def test_a_child_that_ended_counts_with_what_it_used_since_the_first_look():
    before = {
        (10, 5): process("make", ticks=0),
        (11, 5): process("sh", parent=10),
        (12, 5): process("cc1", 11, 5 * TICKS),
    }
    after = {(10, 5): process("make", ticks=7 * TICKS)}  # it waited for both: cc1 used 2 s more
    assert ran(before, after, {1}, OWN, ENGINE) == {"make": 2.0}
