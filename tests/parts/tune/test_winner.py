"""The winner: not slower by its interval, or not written; and a scenario that means what was measured."""

import tomllib
from dataclasses import replace

import pytest
from fake_runs import FAKE
from hypothesis import given
from hypothesis import strategies as some
from scenario_tools import engine, machine
from tuning_tools import SCENARIO, SPACE, MadeUp, settings_of, tuned

from windtunnel.exchange.toml_text import text_of
from windtunnel.parts.tune import winner as winners
from windtunnel.parts.tune.sentences import sentences
from windtunnel.parts.tune.space import from_file
from windtunnel.parts.tune.tuning_record import FinalRecord, TrialRecord
from windtunnel.parts.tune.winner import scenario_text
from windtunnel.runs.identity import flat
from windtunnel.scenario import load, resolve


class Lucky(MadeUp):
    """The candidates of trials look better than they are."""

    def __init__(self, true: float):
        super().__init__(lambda settings: 0.0)
        self.true = true

    def pair(self, incumbent, candidate, directory, number):
        final = directory.name.startswith("final")
        self.of = lambda settings: (self.true if final else 0.3) if settings_of(candidate) == settings else 0.0
        return super().pair(incumbent, candidate, directory, number)


@pytest.mark.parametrize(("true", "written"), [(0.2, True), (0.05, True), (-0.2, False), (-0.03, False)])
def test_the_fresh_measurement_decides(tmp_path, true, written):
    found = tuned(tmp_path, Lucky(true), budget=1)
    assert found.best is not None and found.final is not None
    assert found.final.confirmed is written is found.met is (tmp_path / "out" / "best.toml").exists()
    assert sum(pair.excluded is None for pair in found.final.pairs) == 15
    if not written:
        assert "it may be slower than the file" in found.final.reasons[0]


@pytest.mark.parametrize(("low", "said"), [(0.002, "It is written."), (-0.004, "not shown to be faster than the file")])
def test_what_may_be_as_fast_as_the_file_is_not_called_faster(tmp_path, low, said):
    found = tuned(tmp_path, Lucky(0.2), budget=1)
    assert found.final is not None
    (sentence,) = sentences(replace(found, final=found.final.model_copy(update={"low": low})))
    assert said in sentence and ("at most 1% slower" in sentence) is (low < 0)


def test_what_has_taken_the_place_of_its_file_is_not_loaded(tmp_path, monkeypatch):
    """A scenario is a program, also one that is planned alone: a plug-in of it is opened."""
    write = winners.replace
    monkeypatch.setattr(winners, "replace", lambda path, _text: write(path, "another one ["))
    found = tuned(tmp_path, Lucky(0.2), budget=1)
    assert found.final is not None and found.final.confirmed


def test_a_winner_whose_fresh_runs_fail_is_not_written(tmp_path):
    class Gone(Lucky):
        def pair(self, incumbent, candidate, directory, number):
            self.failing = lambda settings: "invalid" if directory.name.startswith("final") else None
            return super().pair(incumbent, candidate, directory, number)

    found = tuned(tmp_path, Gone(0.3), budget=1)
    assert found.final is not None and not found.final.confirmed
    assert found.final.reasons == ["0 of 30 pairs count: too few to tell whether it is slower"]


def winner(sets):
    return TrialRecord.model_construct(number=7, sets=list(sets), words="", workers=1, why="")


FINAL = FinalRecord(trial=7, pairs=[], difference=0.1, low=0.05, high=0.15, latency=None, confirmed=True, reasons=[])


def test_best_toml_is_what_was_measured(tmp_path):
    file = tmp_path / "echo.toml"
    file.write_text(
        SCENARIO.replace('handler = "l_app"', 'handler = "l_app"\noptions = {}\n[workload.client]\napps = 2\n')
    )
    (tmp_path / "space.toml").write_text(SPACE)
    with engine(str(FAKE)):
        space = from_file(file, tmp_path / "space.toml", ["duration=40ms"], machine())
        sets = space.sets((4, 4, 1))
        text = scenario_text(space, winner(sets), FINAL)
        best = tmp_path / "deep" / "best.toml"
        best.parent.mkdir()
        best.write_text(text)
        made = flat(resolve(load(best), machine()).resolved)
        wanted = flat(resolve(load(file, ["duration=40ms", *sets]), machine()).resolved)
    assert made == wanted
    assert "trial 7" in text and "its comments are not kept" in text and "+10.0% [+5.0% .. +15.0%]" in text
    assert "set for every trial: duration=40ms" in text


def test_paths_of_the_file_are_found_from_another_directory(tmp_path):
    file = tmp_path / "echo.toml"
    (tmp_path / "sizes.txt").write_text("64 1\n128 3\n")
    file.write_text(
        SCENARIO.replace(
            '[[workload]]\nhandler = "l_app"',
            '[[workload]]\nhandler = "l_app"\nrequest_sizes = { distribution = "file", file = "sizes.txt" }',
        )
    )
    (tmp_path / "space.toml").write_text(SPACE)
    with engine(str(FAKE)):
        space = from_file(file, tmp_path / "space.toml", [], machine())
        data = tomllib.loads(scenario_text(space, winner(["client.inflight=64"]), FINAL))
    assert data["workload"][0]["request_sizes"]["file"] == str(tmp_path / "sizes.txt")
    assert data["workload"][0]["handler"] == "l_app" and data["title"] == "L-App echo"


SCALARS = some.one_of(
    some.booleans(), some.integers(-(2**62), 2**62), some.floats(allow_nan=False, allow_infinity=False), some.text()
)
VALUES = some.recursive(
    SCALARS,
    lambda inner: some.one_of(some.lists(inner, max_size=3), some.dictionaries(some.text(), inner, max_size=3)),
    max_leaves=6,
)
TABLES = some.dictionaries(some.text(), VALUES, max_size=4)


def test_values_stand_below_one_another_unless_a_key_is_long():
    text = text_of("q", [], {"short": 1, "longer": 2, "k" * 90_000: 3})
    assert "short  = 1\nlonger = 2\n" in text and len(text) < 91_000


@given(
    some.dictionaries(some.text(), some.one_of(SCALARS, TABLES, some.lists(TABLES, min_size=1, max_size=3)), max_size=5)
)
def test_any_toml_can_be_written(data):
    def kept(value):
        return {k: kept(v) for k, v in value.items() if v != {}} if isinstance(value, dict) else value

    read = tomllib.loads(text_of("why", [], data))
    assert read == {name: value for name, value in data.items() if value != {}}
