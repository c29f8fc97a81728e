"""sysbench as the batch job: its reports are read, its events counted, and its absence has a remedy."""

import shutil
import time

import pytest
from pvcc.batch import BATCH, SYSBENCH, Sysbench, events_per_s, find_sysbench, sysbench_version
from pvcc.fig11 import Fig11
from pvcc.points import Points
from tenant_tools import needs_native

from windtunnel.errors import UserError

REPORTS = """\
sysbench 1.0.20 (using system LuaJIT 2.1.0-beta3)
Number of threads: 1
Threads started!

[ 1s ] thds: 1 eps: 1189.69 lat (ms,95%): 5.00
[ 2s ] thds: 1 eps: 888.87 lat (ms,95%): 8.43
"""
"""Printed by sysbench 1.0.20 of Debian 12 on 2026-11-29."""


@pytest.fixture
def printing(tmp_path, monkeypatch):
    """A sysbench that prints this, and then waits to be ended."""
    needs_native("keeper")
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")

    def printing_of(text: str) -> None:
        (tmp_path / "text").write_text(text)
        program = tmp_path / "sysbench"
        program.write_text(
            f'#!/bin/sh\n[ "$1" = --version ] && echo sysbench 9.9.1 && exit\ncat {tmp_path}/text; exec sleep 60\n'
        )
        program.chmod(0o755)

    return printing_of


def test_a_report_has_the_events_a_second():
    assert [events_per_s(line) for line in REPORTS.splitlines()][-2:] == [1189.69, 888.87]
    assert not any(events_per_s(line) for line in REPORTS.splitlines()[:-2])


@pytest.mark.slow
def test_events_are_the_rates_over_the_times_of_their_reports(printing, tmp_path):
    printing(REPORTS)
    with Sysbench(tmp_path / "log", cpu=None) as job:
        while len(job.done) < 3:
            time.sleep(0.01)
    zero, first, second = job.done
    assert zero.events == 0 and job.tids
    assert first.events == pytest.approx(1189.69 * (first.at_ns - zero.at_ns) / 1e9, rel=0.05)
    assert second.events - first.events == pytest.approx(888.87 * (second.at_ns - first.at_ns) / 1e9, rel=0.05)
    middle, _ = job.between(zero.at_ns, second.at_ns)
    assert middle == second.events
    with pytest.raises(ValueError, match="did not run for all of this time"):
        job.between(zero.at_ns - 1, second.at_ns)


@pytest.mark.slow
def test_the_programs_own_total_is_what_was_counted(tmp_path):
    """Both programs count the same event: each has more than nothing of it, and its CPU time beside it."""
    needs_native("keeper", "batch")
    if shutil.which(SYSBENCH) is None:
        pytest.skip("no sysbench: apt-get install sysbench")
    with Sysbench(tmp_path / "log", cpu=None) as job:
        while len(job.done) < 2:
            time.sleep(0.05)
    events, cpu_ns = job.between(job.done[0].at_ns, job.done[-1].at_ns)
    assert events > 0 and cpu_ns > 0 and len(job.tids) >= 2, "its worker is a thread of its own"


def test_one_that_does_not_begin_is_refused(printing, tmp_path):
    needs_native("keeper")
    printing("FATAL: invalid option\n")
    (tmp_path / "sysbench").write_text("#!/bin/sh\necho invalid option >&2; exit 1\n")
    with pytest.raises(UserError, match="ended without a word of its work"):
        Sysbench(tmp_path / "log", cpu=None)


def test_one_that_is_not_installed_is_named_with_its_package(monkeypatch):
    monkeypatch.setattr("shutil.which", lambda name: None)
    with pytest.raises(UserError, match="no sysbench on this system") as refused:
        find_sysbench()
    assert refused.value.remedy == "apt-get install sysbench"


def test_the_setting_says_which_it_was(printing):
    printing(REPORTS)
    assert Fig11(True, "kicker", Points(batch=(SYSBENCH,))).setting()["batch"] == "sysbench 9.9.1, primes up to 10,000"
    assert Fig11(True, "kicker").setting()["batch"] == "windtunnel-batch, primes up to 10,000"
    assert sysbench_version() == "9.9.1"
    with pytest.raises(UserError, match="one batch job"):
        Fig11(True, "kicker", Points(batch=(BATCH, SYSBENCH))).arms()
