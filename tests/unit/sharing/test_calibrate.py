"""The simulator's costs of a host, taken from trials; and a slicer's figures as the diagnosis takes them."""

from collections import Counter
from dataclasses import replace

import pytest
from study_tools import refused

from windtunnel.engine.lines import Histogram
from windtunnel.errors import UserError
from windtunnel.runs.histogram import spread
from windtunnel.sharing.diagnose import Host, diagnose, of_reading, own_share
from windtunnel.sharing.diagnose import SharedTenant as Diagnosed
from windtunnel.sharing.model.calibrate import calibrate
from windtunnel.sharing.model.form import Capacity
from windtunnel.sharing.model.live import Measured, grid
from windtunnel.sharing.model.points import Point
from windtunnel.sharing.polling_trial import Trial
from windtunnel.sharing.simulate import Machine
from windtunnel.sharing.slicers import SliceReading
from windtunnel.sharing.tenant import TenantWindow

US = 1000
SECOND = 10**9
LOST_NS, AWAY_NS, REQUEST_NS = 15_000, 9_000, 300


def histogram(*values: int) -> Histogram:
    counts = sorted(Counter(values).items())
    ends = {"min": min(values, default=None), "max": max(values, default=None)}
    return Histogram(bits=40, counts=counts, total=len(values), sum=sum(values), **ends)


def a_reading(slice_ns: int, **more) -> SliceReading:
    values = {
        "cpu": 1, "slice_ns": slice_ns, "interval_ns": SECOND, "source": "switches", "slice": histogram(slice_ns), "gap": histogram(3 * slice_ns),
        "mean_slice_ns": slice_ns, "kicks": SECOND // slice_ns, "late": histogram(*[at * US for at in (10, 14, 14, 18)] * 10), "own_share": 1 - AWAY_NS / slice_ns,
        "others_share": AWAY_NS / slice_ns, "lost_records": 0, "members": [], "warnings": [],
    }  # fmt: skip
    return SliceReading(**(values | more))


def finished(tenants: int, slice_us: int, gaps: tuple[int, ...] = ()) -> Measured:
    peak = Capacity(LOST_NS, REQUEST_NS, None).peak(tenants, slice_us * US, 2500, 0, Machine())
    point = Point(
        slicer="kicker", tenants=tenants, slice_ns=slice_us * US, service_ns=2500, rate=1e6, served=peak, p99_ns=None
    )
    one = TenantWindow(
        type="result", begin_ns=0, end_ns=SECOND, own_ns=0, served_ns=0, offered=0, served=0, lost=0, polls=1, empty_polls=0, sleeps=0,
        latency=histogram(), wait=histogram(), slice=histogram(), gap=histogram(*gaps),
    )  # fmt: skip
    return Measured(point, Trial("kicker", 1.0, a_reading(slice_us * US), [one] * tenants))


def test_costs_are_told_apart():
    """What a turn takes beside its tenant is seen from outside; what overload shows beyond it is lost within the turn."""
    machine, capacity = calibrate([finished(1, 300, (20 * US, 40 * US)), finished(4, 50), finished(4, 300)], Machine())
    assert capacity.request_ns == pytest.approx(REQUEST_NS, rel=0.01)
    assert machine.kick_ns + machine.switch_ns == pytest.approx(AWAY_NS, abs=2)
    assert machine.cold_ns == pytest.approx(LOST_NS - AWAY_NS, rel=0.02)
    assert (machine.late_ns, machine.noise.per_second, machine.noise.mean_ns) == (14 * US, 2.0, 30 * US)
    assert machine.late_sd_ns == 4 * US


def test_trials_that_tell_nothing_are_refused():
    with pytest.raises(UserError, match="do not show"):
        calibrate([finished(1, 300)], Machine())


def test_a_stray_sample_does_not_move_what_is_taken_of_lateness():
    assert spread(histogram(*range(100), 10**9)) == (50.0, 34.5)


def test_a_kick_is_no_neighbour():
    assert own_share(a_reading(120 * US)) == 1.0
    assert own_share(a_reading(120 * US, others_share=0.3)) == pytest.approx(0.8, abs=0.001)
    assert own_share(a_reading(120 * US, others_share=None)) is None


def test_the_grid_has_overload_for_every_slice():
    settings = grid("kicker")
    assert len(settings) == 52
    assert {(one.tenants, one.slice_ns) for one in settings if one.rate * one.tenants * one.service_ns > SECOND} == {
        (one.tenants, one.slice_ns) for one in settings
    }


def test_a_slicers_readings_are_diagnosed():
    seen = a_reading(100 * US, slice=histogram(*[3990 * US] * 100))
    run = of_reading("hrtick", seen, [Diagnosed(name, asks=0.1, share=0.5) for name in "ab"], Host(tick_ns=4_000_000))
    assert [finding.code for finding in diagnose(run).findings] == ["tick-bound"]
    assert not diagnose(replace(run, tenants=run.tenants[:1])).findings, "who is alone ends no slice"


@pytest.mark.parametrize(
    "words", [(), (".", "--live"), (".", "--cpu", "0"), (".", "--keep", "kept.jsonl"), ("--live", "--cpu", "4096")]
)
def test_fit_refuses_what_it_cannot_do(words):
    assert refused("share", "fit", *words).remedy
