"""What a program copied: its time by those copies that were timed, with an interval that holds, and counters that cannot be."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from program_samples import TSC_HZ, ended, program, size, thread

from windtunnel.errors import UserError
from windtunnel.parts.copies.program_copies import ns_of, read_copies, thread_share
from windtunnel.parts.copies.program_page import BY_CPU_TIME, GROUPS, Head, Own, Page, Thread, Timed

SERIES = 200


def test_a_size_costs_what_its_timed_copies_cost_on_average():
    assert ns_of([size(9, copies=1000, ns=50.0)]).mean == pytest.approx(50_000)
    assert size(9, 1000, 50.0).ns_per_copy == pytest.approx(50)
    assert size(9, 1000, 50.0, timed=1).ns_per_copy is None


def test_a_size_that_was_hardly_timed_costs_as_its_neighbour():
    few, many = size(12, copies=5, ns=9999.0, timed=0), size(9, copies=1000, ns=50.0)
    assert ns_of([many, few]).mean == pytest.approx(1005 * 50)
    assert ns_of([few, size(14, 1000, 50.0)]).mean == pytest.approx(1005 * 50)
    assert ns_of([few]) is None


def test_what_was_timed_as_a_whole_leaves_nothing_open():
    whole = ns_of([size(23, copies=30, ns=1e6, timed=30)])
    assert (whole.mean, whole.low, whole.high) == pytest.approx((30e6, 30e6, 30e6))


@pytest.mark.slow
def test_the_interval_holds_as_often_as_it_says():
    """Costs are as those of copies are: most alike, some with a page fault. Each copy is timed with a chance of 1 in 16."""
    held = 0
    for seed in range(SERIES):
        draw = np.random.default_rng(seed)
        costs = draw.normal(100, 10, 6000) + 900 * (draw.random(6000) < 0.1)
        sample = costs[draw.random(6000) < 1 / 16]
        groups = tuple((len(part := sample[group::GROUPS]), float(part.sum())) for group in range(GROUPS))
        estimate = ns_of([replace(size(9, copies=len(costs), ns=0.0), timed=groups)])
        held += estimate.low <= costs.sum() <= estimate.high
    assert 0.92 <= held / SERIES <= 0.995


def test_a_share_is_of_the_cpu_time_without_the_librarys_own():
    copies = program(thread(size(9, 1_000_000, 100.0), own_ns=0.5e9), how=ended(cpu_s=1.0))
    assert copies.cpu_s == 0.5 and copies.own_s == 0.5
    assert copies.share.mean == pytest.approx(0.2)


def test_a_row_that_was_read_between_two_of_its_counters_is_read_again(monkeypatch):
    """Its thread copies meanwhile: source_on_line is already that of one copy more."""
    rows = iter([row(source_on_line=5), row(source_on_line=4)])
    monkeypatch.setattr(Page, "rows", lambda page: 1)
    monkeypatch.setattr(Page, "thread", lambda page, number: next(rows))
    with Page() as page:
        assert read_copies(page, ["server"], ended(still_running=True), TSC_HZ).copies == 4


@pytest.mark.parametrize("how", [ended(still_running=True), ended(cpu_s=0.0)])
def test_there_is_no_share_of_a_time_that_is_not_known(how):
    assert program(thread(size(9, 1000, 100.0)), how=how).share is None


def test_a_thread_has_a_share_if_its_cpu_time_is_long_enough_to_be_known():
    assert thread_share(thread(size(9, 1_000_000, 100.0), cpu_ns=10**9)).mean == pytest.approx(0.1)
    assert thread_share(thread(size(9, 1_000_000, 100.0), cpu_ns=10**7)) is None


def test_sizes_of_all_threads_are_one():
    copies = program(thread(size(9, 10, 100.0), size(3, 1, 5.0)), thread(size(9, 30, 200.0, timed=20)))
    assert [(each.number, each.copies, each.timed_copies) for each in copies.sizes] == [(3, 1, 10), (9, 40, 30)]
    assert copies.sizes[1].ns_per_copy == pytest.approx((10 * 100 + 20 * 200) / 30)
    assert (copies.copies, copies.bytes) == (41, 4 + 40 * 256)


def row(number: int = 9, **counters: int) -> Thread:
    written = Thread(process=7, thread=8, program=b"server", own=Own(timed=1))
    written.size[number].copies = 4
    for name, value in counters.items():
        setattr(written.size[number], name, value)
    return written


def read(*rows: Thread):
    with Page() as page:
        path = page.environment["WINDTUNNEL_COPIES"]
        with Path(path).open("r+b") as file:
            file.write(bytes(Head(threads=len(rows), processes=1)) + b"".join(map(bytes, rows)))
        return read_copies(page, ["server"], ended(names={(7, 8): "worker"}), TSC_HZ)


def test_times_are_by_the_tsc_or_by_cpu_time_without_what_measuring_takes():
    rows = [row(9), row(BY_CPU_TIME)]
    for written, number in zip(rows, (9, BY_CPU_TIME), strict=True):
        written.size[number].timed[0] = Timed(copies=4, time=1000, empty=200)
    sizes = read(*rows).sizes
    assert [each.ns_per_copy for each in sizes] == [800 / 4 / 2, 800 / 4]


def test_the_librarys_own_time_is_that_of_all_calls():
    written = row()
    written.own = Own(timed=2, counted_ticks=60, empty_ticks=20, ticks=1000, ns=7)
    assert read(written).own_s == pytest.approx(((1000 + 2 * 20) / 2 + 7) / 1e9)


def test_a_thread_has_the_name_that_the_kernel_had_for_it():
    assert [each.name for each in read(row()).threads] == ["worker"]


@pytest.mark.parametrize("name", ["source_on_line", "destination_on_page", "overlapping", "interrupted"])
def test_counters_that_cannot_be_are_refused(name):
    with pytest.raises(UserError, match="say what cannot be"):
        read(row(**{name: 5}))


def test_more_timed_copies_than_copies_are_refused():
    written = row()
    written.size[9].timed[3] = Timed(copies=5)
    with pytest.raises(UserError, match="timed: 5 of 4 copies"):
        read(written)
    written = row()
    written.own = Own(timed=5)
    with pytest.raises(UserError, match="5 of 4 calls"):
        read(written)
