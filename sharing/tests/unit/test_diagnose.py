"""The diagnosis of a shared run: each finding where its cause is, with its evidence, and nothing where nothing is wrong."""

from collections import Counter
from dataclasses import replace

import pytest

from windtunnel.engine.histogram import Histogram
from windtunnel_sharing.diagnose import CHECKS, Shared, SharedTenant, diagnose

US, MS = 1000, 1_000_000


def histogram(*values: int) -> Histogram:
    """Exact up to 2^40: every value a bucket of its own."""
    counts = sorted(Counter(values).items())
    return Histogram(bits=40, counts=counts, total=len(values), sum=sum(values), min=min(values), max=max(values))


def tenants(**more) -> list[SharedTenant]:
    values = {
        "asks": 0.05,
        "share": 0.25,
        "offered": 5000,
        "served": 5000,
        "lost": 0,
        "working_set": 1 << 16,
        "real_time": False,
    }
    return [SharedTenant(f"t{i}", **(values | more)) for i in range(4)]


GOOD = Shared(
    slicer="kicker",
    slice_ns=120 * US,
    interval_ns=10_000 * MS,
    tenants=tenants(),
    slices=histogram(*[113 * US] * 1000),
    gaps=histogram(*[360 * US] * 1000),
    late=histogram(*[2 * US] * 1000),
    own_share=0.995,
    tick_ns=4 * MS,
    l2_bytes=1 << 20,
)
SICK = {
    "tick-bound": (
        replace(GOOD, slices=histogram(*[3990 * US] * 100)),
        ["requested slice 120 µs", "3.99 ms", "4.00 ms"],
    ),
    "fair-server": (
        replace(
            GOOD, slicer="rotor", tenants=tenants(real_time=True), gaps=histogram(*[300 * US] * 1000, *[48 * MS] * 40)
        ),
        ["10 gaps", "4.8%"],
    ),
    "neighbour": (replace(GOOD, own_share=0.47), ["47.0%", "53.0%"]),
    "cache-thrash": (replace(GOOD, tenants=tenants(working_set=1 << 20)), ["4 x 1.00 MiB", "L2 of 1.00 MiB"]),
    "short-slice": (replace(GOOD, slice_ns=30 * US, slicer="rotor"), ["7.00 µs", "23.3%"]),
    "overload": (replace(GOOD, tenants=tenants(asks=0.3)), ["t0 needs 30.0% of a CPU and has 25.0%"]),
}


def test_every_check_has_its_case():
    assert SICK.keys() == CHECKS.keys()


def test_nothing_is_found_where_nothing_is_wrong():
    diagnosis = diagnose(GOOD)
    assert diagnosis.findings == []
    assert diagnosis.not_measured == []


@pytest.mark.parametrize("code", SICK)
def test_a_cause_is_found_with_its_evidence_and_a_remedy(code):
    run, words = SICK[code]
    (finding,) = diagnose(run).findings
    assert finding.code == code
    for word in words:
        assert word in finding.evidence
    assert finding.remedy


def test_what_was_not_measured_is_not_judged():
    nothing = Shared("kicker", 120 * US, 1000 * MS, [SharedTenant("t")])
    diagnosis = diagnose(nothing)
    assert diagnosis.findings == []
    assert set(diagnosis.not_measured) == {"overload", "tick-bound", "fair-server", "neighbour", "cache-thrash"}


@pytest.mark.parametrize(
    ("changes", "codes"),
    [
        ({"own_share": 0.5, "pool": "be"}, []),  # a neighbour is none of the best-effort pool's business
        ({"slice_ns": 100 * US, "tenants": tenants()[:2]}, []),
        ({"slicer": "rotor", "slice_ns": 30 * US, "switch_ns": 2000}, []),  # a fitted switch decides
        ({"tenants": tenants(asks=None, served=3000, lost=2000)}, ["overload"]),
        ({"own_share": 0.47, "tenants": tenants(asks=0.3)}, ["overload", "neighbour"]),
    ],
)
def test_all_causes_and_no_others_are_named(changes, codes):
    assert [finding.code for finding in diagnose(replace(GOOD, **changes)).findings] == codes


@pytest.mark.parametrize(
    ("changes", "code", "evidence"),
    [
        ({"slice_ns": 100 * US}, "short-slice", "old deadlines"),
        ({"late": histogram(*[80 * US] * 1000)}, "short-slice", "1% of the kicks are more than 80.0 µs late"),
    ],
)
def test_short_slices_of_the_kicker_have_evidence_of_their_own(changes, code, evidence):
    (finding,) = diagnose(replace(GOOD, **changes)).findings
    assert finding.code == code and evidence in finding.evidence
