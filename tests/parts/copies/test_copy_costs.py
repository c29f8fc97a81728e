"""Costs of copies: from which size on a copier pays, what is measured at all, and what people see."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from terminal_views import printed

from windtunnel.errors import UserError
from windtunnel.parts.copies import costs, query
from windtunnel.parts.copies.costs import Measured, measure
from windtunnel.parts.copies.costs_document import copies_document, sentences
from windtunnel.parts.copies.query import Copier, CopierHead, CopyCosts

HEAD = {"type": "copier", "engine": "dma", "kind": "core", "device": "dma_skeleton0", "cpu": 0, "tsc_hz": 2 * 10**9}


def one(size: int, caller: float, cpu: float, hot: bool = False) -> CopyCosts:
    return CopyCosts(type="costs", bytes=size, hot=hot, cpu_cycles=cpu, caller_cycles=caller, copier_cycles=cpu * 2)


def measured(*each: CopyCosts, trip: float | None = 200.0, after: float | None = 210.0) -> Measured:
    head = CopierHead.model_validate(HEAD | {"trip_ns": trip})
    return Measured(copier=head, depth=64, batch=32, costs=list(each), trip_ns_after=after)


def test_the_break_even_is_where_all_larger_sizes_pay():
    found = measured(one(256, 100, 120), one(512, 200, 150), one(1024, 200, 201), one(2048, 200, 400))
    assert found.break_even(hot=False) == 1024
    assert found.break_even(hot=True) is None


@given(st.lists(st.tuples(st.floats(1, 1e6), st.floats(1, 1e6)), min_size=1, max_size=14))
def test_every_size_from_the_break_even_on_pays_and_the_one_before_does_not(pairs):
    each = [one(256 << n, caller, cpu) for n, (caller, cpu) in enumerate(pairs)]
    pays = [c.caller_cycles < c.cpu_cycles for c in each]
    size = measured(*each).break_even(hot=False)
    first = next((n for n, c in enumerate(each) if c.bytes == size), len(each))
    assert all(pays[first:]) and not (first and pays[first - 1])


def test_a_rate_is_that_of_copies_one_after_the_other():
    assert measured().gbps(1000, 4000.0) == pytest.approx(1000 * 8 / 2e-6 / 1e9)


@pytest.mark.parametrize(("trip", "after", "moved"), [(200, 1000, True), (1000, 200, True), (200, 300, False)])
def test_a_host_that_moved_a_cpu_is_told(trip, after, moved):
    found = measured(one(256, 1, 2), trip=trip, after=after)
    assert found.moved == moved
    assert any("measure again" in sentence for sentence in sentences(found)) == moved
    assert not measured(one(256, 1, 2), trip=None, after=None).moved


def test_the_view_shows_what_comes_free_and_from_where():
    found = measured(one(256, 200, 100), one(256, 150, 100, hot=True), one(1024, 100, 400), one(1024, 90, 80, hot=True))
    text = printed(copies_document([found]), width=110)
    assert "software, a thread on CPU 0, 200 ns there and back" in text and "75%" in text
    assert "out of the caches: dma takes fewer cycles of the worker than the CPU from 1.00 KiB on" in text
    assert "in the caches: dma takes fewer cycles of the worker than the CPU at no size" in text


NO_OPTION = {"thread_option": None, "inner_option": None, "profile_option": None}
COPIERS = [
    Copier(name=name, help="", most_depth=most, options=[], **NO_OPTION | option)
    for name, most, option in (
        ("cpu", 8192, {}),
        ("cpu_nt", 8192, {}),
        ("dma", 100, {"thread_option": "device"}),
        ("model", 8192, {"profile_option": "profile"}),
        ("planted", 8191, {"inner_option": "engine"}),
    )
]


OWN = Copier(name="own", help="", most_depth=16, options=[], **NO_OPTION)


@pytest.fixture
def engine(monkeypatch, tmp_path):
    """An engine that says what it was asked for."""
    asked = []

    def responded(_, what):
        asked.append(what)
        head = CopierHead.model_validate(HEAD | {"engine": what["engine"], "trip_ns": None})
        return head, [one(size, 1, 2) for size in what["sizes"]], query.CopyEnd(type="end", trip_ns=None)

    monkeypatch.setattr(costs, "find_engine", lambda: tmp_path / "engine")
    monkeypatch.setattr(costs, "copiers", lambda _, plugin=None: [OWN] if plugin else COPIERS)
    monkeypatch.setattr(costs, "copy_costs", responded)
    monkeypatch.setattr(costs, "allowed_cpus", lambda: [2, 3])
    return asked


def test_what_moves_bytes_itself_is_measured_and_the_cpu_is_the_reference(engine):
    assert [each.copier.engine for each in measure(64)] == ["cpu_nt", "dma"]
    assert [(asked["depth"], asked["batch"], asked["options"]) for asked in engine] == [(64, 32, {})] * 2
    [words] = {" ".join(asked["eal"][:4]) for asked in engine}
    assert words == "--lcores 0@(3),1@2 --main-lcore 0"


def test_a_depth_is_at_most_that_of_the_copier_and_a_device_is_named(engine):
    measure(8191, device="0000:6a:01.0-q0", cpu=2)
    assert [(asked["engine"], asked["depth"]) for asked in engine] == [("cpu_nt", 8191), ("dma", 100)]
    dma = engine[1]
    assert dma["options"] == {"device": "0000:6a:01.0-q0"} and dma["eal"][4:6] == ["-a", "0000:6a:01.0"]


def test_an_engine_is_modelled_where_its_profile_is_named(engine):
    measure(8191, profile="dsa-spr")
    assert [(asked["engine"], asked["depth"]) for asked in engine] == [("cpu_nt", 8191), ("dma", 100), ("model", 128)]
    assert [asked["model"] and asked["model"]["name"] for asked in engine] == [None, None, "dsa-spr"]
    with pytest.raises(UserError, match='no profile "dsa"'):
        measure(8, profile="dsa")


def test_a_copier_of_ones_own_is_measured_before_the_others_shown_behind_them_and_goes_by_its_path(engine):
    assert [each.copier.engine for each in measure(64, files=["./own.so"])] == ["cpu_nt", "dma", "./own.so"]
    own = engine[0]
    assert (own["engine"], own["depth"], own["options"]) == (str(Path("own.so").absolute()), 16, {})


def test_one_cpu_leaves_the_software_engine_out(engine, monkeypatch):
    monkeypatch.setattr(costs, "allowed_cpus", lambda: [2])
    assert [each.copier.engine for each in measure(64)] == ["cpu_nt"]


def test_a_cpu_that_is_not_there_is_refused(engine):
    with pytest.raises(UserError, match="CPU 9 does not exist") as refused:
        measure(64, cpu=9)
    assert refused.value.remedy == "--cpu: one of 2, 3"


LINES = [HEAD | {"trip_ns": None}, one(256, 1, 2).model_dump(), {"type": "end", "trip_ns": None}]


@pytest.mark.parametrize("lines", [LINES[:2], LINES[1:], LINES[::2], [{"type": "?"}]])
def test_an_engine_that_says_something_else_is_refused(monkeypatch, tmp_path, lines):
    monkeypatch.setattr(query, "query", lambda *_: "\n".join(map(json.dumps, lines)))
    with pytest.raises(UserError, match="--copy-costs"):
        query.copy_costs(tmp_path, {})


def test_its_lines_are_read(monkeypatch, tmp_path):
    monkeypatch.setattr(query, "query", lambda *_: "\n".join(map(json.dumps, LINES)))
    head, each, end = query.copy_costs(tmp_path, {})
    assert (head.engine, [cost.bytes for cost in each], end.trip_ns) == ("dma", [256], None)
