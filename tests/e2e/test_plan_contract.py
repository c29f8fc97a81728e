"""The plan is one contract: what its models refuse, the engine refuses at the same path, and what they take it takes."""

import copy
import json
import re
import subprocess

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from part_samples import part_samples
from plan_places import full_plan, inside, outside, places
from pydantic import ValidationError

from windtunnel.engine.find import find_engine
from windtunnel.engine.plan import Plan

FULL = full_plan()
PLACES = list(places(FULL))
OF_A_RANGE = re.compile(r" is (below|above) [0-9.e+]+$")


def reached(plan, where):
    for part in where:
        plan = plan[part]
    return plan


def at(where):
    return reached(FULL, where)


def said_by_engine(directory, plans: list) -> list[str]:
    """What the engine says of each plan, without the file's name."""
    files = [directory / f"{index}.json" for index in range(len(plans))]
    for file, plan in zip(files, plans, strict=True):
        file.write_text(json.dumps(plan))
    asked = subprocess.run([find_engine(), "--check-plan", *files], capture_output=True, text=True, check=False)
    lines = asked.stdout.splitlines()
    assert len(lines) == len(plans), asked.stderr
    return [line.removeprefix(f"{file}: ") for file, line in zip(files, lines, strict=True)]


def refused_by_models(plan) -> set[tuple]:
    """The places that the models name; empty where they accept it."""
    try:
        Plan.model_validate_json(json.dumps(plan))
    except ValidationError as error:
        return {fault["loc"] for fault in error.errors()}
    return set()


def test_python_and_engine_accept_a_plan_with_every_part(tmp_path):
    assert len(PLACES) > 250
    assert refused_by_models(FULL) == set()
    assert said_by_engine(tmp_path, [FULL]) == ["valid plan"]


def test_python_and_engine_refuse_values_just_out_of_range_at_their_path(tmp_path):
    cases = [(place, value) for place in PLACES for value in outside(place, at(place.where))]
    assert len(cases) > 2 * len(PLACES)
    plans = [place.put(FULL, value) for place, value in cases]
    for (place, value), plan, words in zip(cases, plans, said_by_engine(tmp_path, plans), strict=True):
        assert place.where in refused_by_models(plan), (place.path, value)
        if place.path == "version" and value is not None:
            assert "this engine reads version" in words
        else:
            assert words.startswith(f"plan: {place.path}: "), (place.path, value, words)


LATER_OF_WORKLOADS = set().union(*part_samples("LATER_KEYS"))
LATER_OF_ENDPOINTS = [("vlan",), ("dispatchers", 0, "peers")]
LATER = {("variants",), ("phases", "hold_windows"), ("probe_pairs",)} | {
    (table, index, *key)
    for table, keys in (("endpoints", LATER_OF_ENDPOINTS), ("workloads", LATER_OF_WORKLOADS))
    for index in (0, 1)
    for key in keys
}
"""Records from before these keys were there are still read. The engine, which reads no record, refuses a plan without them."""


def test_python_and_engine_refuse_missing_and_unknown_keys(tmp_path):
    parts = [((), ""), *((p.where, p.path) for p in PLACES if "properties" in p.schema and at(p.where) is not None)]
    plans, wanted = [], []

    def changed(where) -> dict:
        plans.append(copy.deepcopy(FULL))
        return reached(plans[-1], where)

    for where, path in parts:
        for key in at(where):
            del changed(where)[key]
            wanted.append(((*where, key), f'{path and path + ": "}key "{key}" is missing'))
        changed(where)["surprise"] = 1
        wanted.append(((*where, "surprise"), f"{path and path + '.'}surprise: unknown key"))
    assert len(plans) > 150
    for (where, words), plan, said in zip(wanted, plans, said_by_engine(tmp_path, plans), strict=True):
        assert (where in refused_by_models(plan)) == (where not in LATER)
        assert said == f"plan: {words}"


NUMBERS = [place for place in PLACES if inside(place)]


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_python_and_engine_agree_on_any_number(tmp_path, data):
    """Inside its range a number may still contradict another key: what lies across fields is the engine's to refuse."""
    drawn = data.draw(
        st.lists(st.tuples(st.sampled_from(NUMBERS), st.integers(-(2**66), 2**66)), min_size=1, max_size=20)
    )
    inner = [data.draw(st.integers(*map(int, inside(place)))) for place, _ in drawn]
    plans = [place.put(FULL, value) for place, value in drawn]
    plans += [place.put(FULL, value) for (place, _), value in zip(drawn, inner, strict=True)]
    said = said_by_engine(tmp_path, plans)
    for (place, value), plan, words in zip(drawn * 2, plans, said, strict=True):
        low, high = inside(place)
        number = reached(plan, place.where)
        if low <= number <= high:
            assert refused_by_models(plan) == set()
            assert not (words.startswith(f"plan: {place.path}: ") and OF_A_RANGE.search(words)), words
        else:
            assert place.where in refused_by_models(plan), (place.path, value)
            assert words.startswith(f"plan: {place.path}: "), words


@pytest.mark.parametrize("text", ["", "{", "[]", "\x00", '{"version": 3, "version": 3}'])
def test_python_and_engine_refuse_other_documents(tmp_path, text):
    file = tmp_path / "plan.json"
    file.write_text(text)
    asked = subprocess.run([find_engine(), "--check-plan", file], capture_output=True, text=True, check=False)
    assert asked.returncode == 2 and "the plan" in asked.stdout or "plan: must be an object" in asked.stdout
    with pytest.raises(ValidationError):
        Plan.model_validate_json(text)
