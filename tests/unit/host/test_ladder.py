"""The ladder: measured by the engine, its levels found, the kernel's sizes held against them and never used."""

import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from planted_studies import a_ladder
from scenario_tools import engine
from study_tools import invoke, refused

from windtunnel.errors import UserError
from windtunnel.host import ladder as ladders
from windtunnel.host.caches import Cache, reported
from windtunnel.host.steps import plateaus
from windtunnel.results.ladder import disagreements

SIZES = np.geomspace(4096, 256 << 20, 65)


def steps_of(*steps: tuple[float, float], noise: float = 0.0, seed: int = 0, sharp: float = 8) -> list[float]:
    rng = np.random.default_rng(seed)
    ns = 1.2 + sum(cost * SIZES**sharp / (SIZES**sharp + size**sharp) for size, cost in steps)
    return list(ns * np.exp(rng.normal(0, noise, len(SIZES))))


def ends(ns: list[float]) -> list[int]:
    rungs = [ladders.Rung(bytes=int(b), ns=one, most_ns=one) for b, one in zip(SIZES, ns, strict=True)]
    return [level.bytes for level in ladders.levels_of(rungs) if level.bytes]


@pytest.mark.parametrize("noise", [0.0, 0.05])
def test_levels_end_where_the_caches_do(noise):
    found = ends(steps_of((48e3, 4), (2e6, 25), (24e6, 200), noise=noise, seed=3))
    assert len(found) == 3
    for end, true in zip(found, (48e3, 2e6, 24e6), strict=True):
        assert true / 2 < end < true * 2


def test_a_host_without_steps_has_one_level():
    assert ends(steps_of(noise=0.04)) == []
    assert len(plateaus([5.0])) == 1


@given(st.lists(st.floats(0.5, 1e3), min_size=1, max_size=70))
@settings(max_examples=80, deadline=None)
def test_any_measurement_has_ordered_levels(ns):
    found = plateaus(ns)
    assert found and found[0].first >= 0 and found[-1].last < len(ns)
    assert all(a.last < b.first and a.ns < b.ns for a, b in pairwise(found))


def test_the_kernel_reports_what_lscpu_prints(tmp_path):
    for n, (level, kind, size) in enumerate(
        [(1, "Data", "32K"), (1, "Instruction", "32K"), (3, "Unified", "300M"), (2, "?", "x")]
    ):
        index = tmp_path / f"sys/devices/system/cpu/cpu0/cache/index{n}"
        index.mkdir(parents=True)
        for name, value in (("level", level), ("type", kind), ("size", size)):
            (index / name).write_text(f"{value}\n")
    assert reported(0, tmp_path) == [Cache(level=1, bytes=32 << 10), Cache(level=3, bytes=300 << 20)]
    assert reported(0, tmp_path / "nothing") == []


def test_a_reported_cache_without_a_level_is_named():
    told = a_ladder(
        reported=[Cache(level=1, bytes=32 << 10), Cache(level=3, bytes=300 << 20), Cache(level=2, bytes=400 << 10)]
    )
    words = disagreements(told)
    assert len(words) == 2
    assert "larger than the ladder" in words[0] and "L3 300 MiB" in words[0]
    assert "L2 400 KiB: no level ends there" in words[1]
    assert disagreements(a_ladder(reported=[Cache(level=2, bytes=2 << 20)])) == [
        "every reported cache size agrees with a measured level"
    ]


def test_the_fastest_round_of_each_size_counts():
    lines = [
        ladders.LadderLine(type="rung", bytes=b, round=r, ns=ns)
        for b, r, ns in [(64, 0, 3), (128, 0, 4), (64, 1, 2), (128, 1, 9)]
    ]
    assert [(r.bytes, r.ns, r.most_ns) for r in ladders.rungs_of(lines)] == [(64, 2, 3), (128, 4, 9)]


@pytest.mark.parametrize("text", ["", "[]", '{"version": 2}', "\x00", '{"version": 1}'])
def test_a_file_that_is_not_a_ladder_is_refused(tmp_path, text):
    file = tmp_path / "ladder.json"
    file.write_text(text)
    with pytest.raises(UserError, match="not a ladder|a NUL character") as refusal:
        ladders.read(file)
    assert "windtunnel host ladder" in refusal.value.remedy


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda ladder: ladder.update(rungs=[]), "rungs: "),
        (lambda ladder: ladder["rungs"].reverse(), "sizes are not ascending"),
        (lambda ladder: ladder["rungs"][0].update(bytes=0), "rungs.0.bytes"),
        (lambda ladder: ladder["rungs"][0].update(ns=-1.0), "rungs.0.ns"),
        (lambda ladder: ladder["rungs"][0].update(ns=float("nan")), "rungs.0.ns"),
        (lambda ladder: ladder.update(levels=[]), "levels: "),
        (lambda ladder: ladder["levels"][0].update(bytes=0), "levels.0.bytes"),
    ],
)
def test_impossible_numbers_of_a_ladder_are_refused(tmp_path, change, words):
    ladder = a_ladder().model_dump(mode="json")
    change(ladder)
    (tmp_path / "l.json").write_text(json.dumps(ladder))
    with pytest.raises(UserError, match="not a ladder|a NUL character") as refusal:
        ladders.read(tmp_path / "l.json")
    assert words in refusal.value.message


def test_a_file_without_an_end_is_refused():
    with pytest.raises(UserError, match="not a regular file"):
        ladders.read(Path("/dev/zero"))


def test_a_ladder_survives_the_round_trip(tmp_path):
    (tmp_path / "l.json").write_text(a_ladder().model_dump_json())
    assert ladders.read(tmp_path / "l.json") == a_ladder()


@pytest.mark.slow
def test_the_engine_measures_one(tmp_path):
    files = ("--out", tmp_path / "l.json", "--report", tmp_path / "l.html")
    said = invoke("host", "ladder", "--most", "1MiB", "--rounds", "2", *files)
    kept = ladders.read(tmp_path / "l.json")
    assert [rung.bytes for rung in kept.rungs][:5] == [4096, 4864, 5760, 6848, 8192]
    assert kept.rungs[-1].bytes == 1 << 20 and all(0 < rung.ns <= rung.most_ns for rung in kept.rungs)
    assert "ns per load" in said and "up to" in said
    assert "Latency over size" in (tmp_path / "l.html").read_text()
    assert "exists already" in refused("host", "ladder", "--most", "1MiB", "--out", tmp_path / "l.json").message
    small = json.loads(invoke("host", "ladder", "--most", "256KiB", "--rounds", "1", "--pages", "small", "--json"))
    assert small["pages"] == "small"


def test_output_files_are_checked_before_the_measurement(tmp_path):
    file = tmp_path / "l.json"
    measures = ("host", "ladder", "--most", "1MiB", "--out", file)
    assert refused(*measures, "--report", tmp_path / "x" / ".." / "l.json").message.endswith("is not a directory")
    assert refused(*measures, "--report", file).message == f"{file}: named twice"
    assert refused("host", "ladder", "--out", tmp_path / "none" / "l.json").remedy.startswith("choose a file in a")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("most", "words"),
    [
        ("4KiB", "a ladder up to 4096 bytes has no rungs; --most 64KiB, or more"),
        ("1000000GiB", "more than half"),
        ("fast", "not a size"),
    ],
)
def test_a_ladder_that_cannot_be_measured_is_refused(most, words):
    error = refused("host", "ladder", "--most", most)
    assert words in f"{error.message}; {error.remedy}"


def script(tmp_path: Path, body: str) -> str:
    file = tmp_path / "engine"
    file.write_text(f"#!/bin/sh\n{body}\n")
    file.chmod(0o755)
    return str(file)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("echo nonsense", "Invalid JSON"),
        ('echo \'{"type":"end","huge_bytes":0}\'', "not a ladder"),
        ("kill -9 $$", "died"),
        ("echo 'windtunnel-engine: no room of 5 MiB' >&2; exit 2", "no room"),
    ],
)
def test_an_engine_that_misbehaves_is_named(tmp_path, body, words):
    with engine(script(tmp_path, body)):
        assert words in refused("host", "ladder", "--most", "1MiB").message
