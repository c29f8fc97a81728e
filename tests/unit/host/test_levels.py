"""Levels of a line's round trip: found by their gaps, kept in a file of this host."""

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windtunnel.host.facts import collect
from windtunnel.host.levels import GAP, Readings, keep, level_of, name_of, read_kept

NEAR = [76, 80, 85, 91, 97, 105, 118, 130, 140, 151]
FAR = [372, 390, 410, 425, 450]


def readings(*trips):
    read = Readings()
    read.add(trips, [0.2])
    return read


def test_levels_end_at_gaps():
    near, far = readings(*NEAR, *FAR).levels()
    assert 72 < near.low < 80 and 145 < near.high < 158 and near.readings == len(NEAR)
    assert 360 < far.low < 380 and 440 < far.high < 465 and far.readings == len(FAR)


def test_a_rare_reading_bridges_no_gap():
    assert len(readings(*NEAR * 100, *FAR * 100, 220, 260).levels()) == 2


@pytest.mark.parametrize(("ns", "position"), [(60, 0), (91, 0), (200, 0), (300, 1), (425, 1), (9000, 1)])
def test_a_reading_belongs_to_the_nearest_level(ns, position):
    assert level_of(ns, readings(*NEAR, *FAR).levels()) == position


def test_one_level_alone_has_no_rank():
    assert name_of(0, readings(*NEAR).levels()) == "one-level"
    levels = readings(*NEAR, *FAR).levels()
    assert [name_of(n, levels) for n in range(2)] == ["one-l3", "two-l3s"]


def test_no_readings_have_no_levels():
    assert Readings().levels() == []


@given(st.lists(st.floats(1, 1e5), min_size=1, max_size=50))
def test_levels_are_apart_and_hold_every_reading(trips):
    read = readings(*trips)
    levels = read.levels()
    assert sum(level.readings for level in levels) == len(trips)
    assert all(b.low >= GAP * a.high * 0.99 for a, b in pairwise(levels))


def additions(*ratios):
    read = Readings()
    read.add([], ratios)
    return read


@pytest.mark.parametrize("outliers", [[0.1], [0.1, 0.12]])
def test_the_least_additions_are_no_accident(outliers):
    assert additions(*outliers, *[0.2] * 8, *[0.3] * 8).least_wide() == pytest.approx(0.2, rel=0.01)
    assert additions(*outliers * 2, *[0.2] * 800).least_wide() == pytest.approx(0.2, rel=0.01)


def test_the_least_additions_need_not_be_the_usual_ones():
    """A sibling may be busy most of the time."""
    assert additions(*[0.2] * 10, *[0.3] * 990).least_wide() == pytest.approx(0.2, rel=0.01)


@given(st.lists(st.floats(0.05, 20), min_size=1, max_size=50))
def test_the_least_additions_are_one_of_the_readings(ratios):
    least = additions(*ratios).least_wide()
    assert any(least == pytest.approx(ratio, rel=0.01) for ratio in sorted(ratios)[:3])


def test_readings_come_together():
    both = additions(0.2, 0.2)
    both.update(additions(0.2))
    assert both == additions(0.2, 0.2, 0.2) and Readings().least_wide() is None


def test_what_is_kept_is_read_again(tmp_path):
    file, host = tmp_path / "below" / "states.json", collect()
    assert keep(readings(*NEAR), host, file)
    assert read_kept(host, file) == readings(*NEAR)


def test_trips_of_copies_are_kept_apart(tmp_path):
    file, host = tmp_path / "states.json", collect()
    read = readings(*NEAR)
    read.add([], [], [300.0, 310.0, 1300.0])
    assert keep(read, host, file)
    kept = read_kept(host, file)
    assert [level.readings for level in kept.copy_levels()] == [2, 1] and kept.levels() == readings(*NEAR).levels()
    kept.update(read)
    assert [level.readings for level in kept.copy_levels()] == [4, 2]


def test_readings_of_one_worker_leave_an_older_file_alone(tmp_path):
    file, host = tmp_path / "states.json", collect()
    keep(readings(*NEAR), host.model_copy(update={"kernel": "5.0"}), file)
    before = file.read_text()
    for _ in range(3):  # of one worker there are no round trips
        keep(additions(0.2), host, file)
    assert file.with_suffix(".old").read_text() == before


def test_a_file_of_another_kernel_is_not_used_and_not_lost(tmp_path):
    file, host = tmp_path / "states.json", collect()
    keep(readings(*NEAR), host.model_copy(update={"kernel": "5.0"}), file)
    before = file.read_text()
    assert read_kept(host, file) == Readings()
    keep(readings(*FAR), host, file)
    assert read_kept(host, file) == readings(*FAR) and file.with_suffix(".old").read_text() == before


@pytest.mark.parametrize("text", ["", "{", "[]", '{"version": 1}', '{"version": 9}', "\x00"])
def test_a_damaged_file_is_no_readings(tmp_path, text):
    file = tmp_path / "states.json"
    file.write_text(text)
    assert read_kept(collect(), file) == Readings()
    assert keep(readings(91), collect(), file) and file.with_suffix(".old").read_text() == text
    assert json.loads(file.read_text())["trips"]


def test_what_cannot_be_written_is_no_error(tmp_path):
    (tmp_path / "file").write_text("")
    assert not keep(readings(91), collect(), tmp_path / "file" / "states.json")
