"""What a user types becomes a search, and never SQL."""

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from windtunnel.errors import UserError
from windtunnel.index.find import number_of, where


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("50us", 50e3),
        ("50 us", 50e3),
        ("1.5ms", 1.5e6),
        ("2M", 2e6),
        ("64", 64.0),
        ("10%", 0.1),
        ("4KiB", 4096.0),
        ("-3", -3.0),
    ],
)
def test_quantities(text, value):
    assert number_of(text) == pytest.approx(value)


@pytest.mark.parametrize("text", ["", "ring", "5 parsecs", "1.2.3", "us"])
def test_what_is_no_quantity(text):
    assert number_of(text) is None


TABLES = """
CREATE TABLE entries (path VARCHAR, kind VARCHAR, title VARCHAR, question VARCHAR, host VARCHAR, verdict VARCHAR, started VARCHAR, p99 DOUBLE,
tags VARCHAR, note VARCHAR);
CREATE TABLE facts (path VARCHAR, name VARCHAR, number DOUBLE, text VARCHAR)"""


@pytest.fixture(scope="module")
def base():
    base = duckdb.connect()
    base.execute(TABLES)
    for place, p99 in enumerate([10_000, 60_000, None]):
        path = f"r{place}/run.json"
        entry = [path, "run", f"Echo {place}", "what?", "here", "valid", f"2026-11-0{place + 1}", p99]
        base.execute("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?, ?, '', '')", entry)
        facts = [("server.batch.app_rx", 64 >> place, None), ("wire.kind", None, "ring"), ("server.p90", p99, None)]
        for fact in facts:
            base.execute("INSERT INTO facts VALUES (?, ?, ?, ?)", [path, *fact])
    return base


def found(base, text):
    of = where(text)
    rows = base.execute(f"SELECT title FROM entries WHERE {of.sql} ORDER BY title", of.parameters).fetchall()
    return [title for (title,) in rows]


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("", [0, 1, 2]),
        ("p99 < 50us", [0]),
        ("server.p90 < 50us", [0]),
        ("p99<50us", [0]),
        ("p99 >= 0.06ms", [1]),
        ("server.batch.app_rx = 64", [0]),
        ("server.batch.app_rx != 64", [1, 2]),
        ("wire.kind = ring", [0, 1, 2]),
        ('wire.kind = "memif"', []),
        ("echo p99 < 1s", [0, 1]),
        ("ECHO 2", [2]),
        ("verdict = valid started >= 2026-11-02", [1, 2]),
        ("nothing.like.it = 1", []),
        ("' OR 1=1 --", None),
        ("x' y", []),
    ],
)
def test_searches(base, text, numbers):
    if numbers is None:
        with pytest.raises(UserError):
            found(base, text)
    else:
        assert found(base, text) == [f"Echo {number}" for number in numbers]


@pytest.mark.parametrize("text", ["p99 <", "< 3", "p99 < fast", "a" * 501, "p99 = = 3"])
def test_what_cannot_be_read_is_refused_with_a_remedy(text):
    with pytest.raises(UserError) as refused:
        where(text)
    assert refused.value.remedy


@given(text=st.text(max_size=60))
def test_no_text_breaks_the_search(base, text):
    try:
        of = where(text)
    except UserError:
        return
    if not any("\ud800" <= letter <= "\udfff" for letter in text):
        base.execute(f"SELECT 1 FROM entries WHERE {of.sql}", of.parameters)
