"""Slicers share a core among threads that know nothing of it, and leave them as they were, however they end."""

import os
import signal
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sharing_tools import POLL, as_before, needs_rights, tenant, until

from windtunnel.errors import UserError
from windtunnel.sharing import sched, threads
from windtunnel.sharing.changed_threads import held
from windtunnel.sharing.slicers import SLICERS, Member, warnings
from windtunnel.sharing.slicers.weights import by_steps_alone, kernel_weight, steps

CPU = max(os.sched_getaffinity(0))
SLICE_NS = 200_000
LATE_NS = 1_000_000
HOLDER = """
import sys, time
from pathlib import Path
from windtunnel.sharing.changed_threads import held
from windtunnel.sharing.slicers import SLICERS, Member
with held(Path(sys.argv[1])) as journal, SLICERS[sys.argv[2]](journal) as slicer:
    slicer.start(int(sys.argv[3]), 200_000)
    slicer.set_members([Member(int(tid), 256) for tid in sys.argv[4:]])
    print("sliced", flush=True)
    time.sleep(600)
"""


def started(name, journal):
    slicer = SLICERS[name](journal)
    if slicer.missing(CPU):
        pytest.skip(f"{name}: {slicer.missing(CPU)}")
    slicer.start(CPU, SLICE_NS)
    return slicer


@needs_rights
@pytest.mark.parametrize("name", SLICERS)
def test_members_share_the_core_and_are_restored(tmp_path, name):
    with (
        tenant(POLL) as one,
        tenant(POLL) as two,
        held(tmp_path / "a.journal") as journal,
        started(name, journal) as slicer,
    ):
        before = [threads.read(each.pid) for each in (one, two)]
        slicer.set_members([Member(one.pid, 256), Member(two.pid, 128)])
        assert [os.sched_getaffinity(each.pid) for each in (one, two)] == [{CPU}, {CPU}]
        ran, kicks = [0, 0], [0]

        def both_ran():
            reading = slicer.read()
            kicks[0] += reading.kicks
            late = (
                LATE_NS / reading.interval_ns
            )  # switches while it is read count, and the first interval may be a millisecond
            assert reading.cpu == CPU and reading.interval_ns > 0 and 0 <= reading.own_share <= 1.01 + late
            assert [round(member.entitled, 3) for member in reading.members] == [0.667, 0.333]
            for at, member in enumerate(reading.members):
                ran[at] += member.ran_ns
            return all(ran) and (kicks[0] > 0 or slicer.mechanism == "watch")

        until(both_ran)
        slicer.set_members([Member(two.pid, 128)])
        assert threads.read(one.pid) == before[0] and os.sched_getaffinity(two.pid) == {CPU}
        slicer.stop()
        assert threads.read(two.pid) == before[1]


@needs_rights
@pytest.mark.parametrize("name", ["kicker", "rotor"])
def test_a_killed_slicer_leaves_its_members_as_they_were(tmp_path, name):
    with (
        tenant(POLL) as one,
        tenant(POLL) as two,
        held(tmp_path / "a.journal") as journal,
        started(name, journal) as slicer,
    ):
        before = [threads.read(each.pid) for each in (one, two)]
        slicer.set_members([Member(one.pid), Member(two.pid)])
        os.kill(slicer._native.pid, signal.SIGKILL)
        until(as_before(one.pid, before[0]))
        until(as_before(two.pid, before[1]))
        with pytest.raises(UserError, match="has ended: SIGKILL"):
            slicer.read()


@needs_rights
@pytest.mark.parametrize("name", ["kicker", "rotor"])
def test_a_killed_parent_restores_the_members_and_ends_the_slicer(tmp_path, name):
    with tenant(POLL) as one, tenant(POLL) as two:
        os.setpriority(os.PRIO_PROCESS, one.pid, 2)
        before = [threads.read(each.pid) for each in (one, two)]
        path = tmp_path / "a.journal"
        words = [sys.executable, "-c", HOLDER, path, name, str(CPU), str(one.pid), str(two.pid)]
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as holder:
            assert holder.stdout.readline() == "sliced\n"
            assert threads.read(one.pid)["affinity"] == (CPU,)
            holder.kill()
        until(lambda: not path.exists())
        assert [threads.read(each.pid) for each in (one, two)] == before


@needs_rights
def test_a_member_that_ends_does_not_affect_the_others(tmp_path):
    with (
        tenant(POLL) as one,
        tenant(POLL) as two,
        held(tmp_path / "a.journal") as journal,
        started("rotor", journal) as slicer,
    ):
        slicer.set_members([Member(one.pid), Member(two.pid)])
        one.kill()
        one.wait()
        slicer.read()
        until(lambda: slicer.read().members[1].ran_ns > 0)
        with pytest.raises(UserError, match="no such thread"):
            slicer.set_members([Member(one.pid), Member(two.pid)])
        slicer.set_members([Member(two.pid)])


@needs_rights
def test_the_slice_changes_while_it_runs(tmp_path):
    with tenant(POLL) as one, held(tmp_path / "a.journal") as journal, started("kicker", journal) as slicer:
        slicer.set_members([Member(one.pid)])
        slicer.set_slice(1_000_000)
        assert slicer.read().slice_ns == 1_000_000
        if sched.default_slice_ns():
            assert threads.read(one.pid)["runtime_ns"] == 850_000


def test_invalid_slices_weights_and_cpus_are_refused(tmp_path):
    with tenant() as one, held(tmp_path / "a.journal") as journal:
        for slice_ns in (0, 9_999, 10**9 + 1):
            with pytest.raises(UserError, match="a slice of"):
                SLICERS["tick"](journal).start(CPU, slice_ns)
        with pytest.raises(UserError, match="CPU 4095 is not one"):
            SLICERS["kicker"](journal).start(4095, SLICE_NS)
        with pytest.raises(UserError, match="not started"):
            SLICERS["kicker"](journal).set_members([Member(one.pid)])
        with SLICERS["tick"](journal) as slicer:
            slicer.start(CPU, SLICE_NS)
            for weight in (0, -1, 10**9):
                with pytest.raises(UserError, match="a weight of"):
                    slicer.set_members([Member(one.pid, weight)])
            with pytest.raises(UserError, match="twice"):
                slicer.set_members([Member(one.pid), Member(one.pid)])
        assert journal.tids == []


@given(st.lists(st.integers(1, 1 << 20), min_size=1, max_size=64))
def test_a_weight_lies_between_its_steps(weights):
    found, said = steps(weights)
    heaviest = max(range(len(weights)), key=weights.__getitem__)
    unit = kernel_weight(found[heaviest].high) / weights[heaviest]
    assert found[heaviest].high == found[heaviest].low
    beyond = 0
    for weight, one in zip(weights, found, strict=True):
        if weight * unit < kernel_weight(19):
            beyond += 1
            assert (one.high, one.low) == (19, 19)
        else:
            assert kernel_weight(one.low) <= weight * unit * (1 + 1e-9) and weight * unit <= kernel_weight(one.high) * (
                1 + 1e-9
            )
            assert one.low - one.high in (0, 1)
    assert len(said) == beyond


def test_nice_steps_alone_miss_some_weights():
    assert by_steps_alone([128, 64, 32, 16]) == pytest.approx([0.533, 0.267, 0.133, 0.067], abs=0.015)
    assert max(abs(a - b) for a, b in zip(by_steps_alone([100, 89]), [100 / 189, 89 / 189], strict=True)) > 0.02


def test_members_in_different_groups_are_warned_of(tmp_path, monkeypatch):
    """Autogroups, a cpu cgroup of v1, and threads that are older than autogroups: their files are empty."""
    given = {
        1: ("0::/\n", "/autogroup-7 nice 0\n"),
        2: ("0::/\n", "/autogroup-7 nice 0\n"),
        3: ("0::/\n", ""),
        4: ("4:cpu,cpuacct:/a\n", ""),
    }
    for tid, (cgroup, autogroup) in given.items():
        (tmp_path / str(tid)).mkdir()
        (tmp_path / str(tid) / "cgroup").write_text(cgroup)
        (tmp_path / str(tid) / "autogroup").write_text(autogroup)
    monkeypatch.setattr(threads, "PROC", tmp_path)
    monkeypatch.setattr(warnings, "AUTOGROUP", tmp_path / "enabled")
    assert warnings.autogroups([1, 2]) == set()
    (tmp_path / "enabled").write_text("1\n")
    assert warnings.autogroups([1, 2]) == {"/autogroup-7"}
    assert warnings.autogroups([1, 2, 3, 4, 5]) == {"/autogroup-7", "root", "cgroup /a"}
