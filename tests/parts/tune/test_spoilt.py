"""The bench of spoilt scenarios: what is spoilt, and how much of it is back."""

import math
from types import SimpleNamespace

import pytest
from bench_tools import results  # noqa: F401, the path to the benches
from spoilt import ALL, SCENARIOS, Result, spoil

from windtunnel.runs.identity import flat
from windtunnel.scenario import load
from windtunnel.scenario.topology import endpoint


def keys_of(file):
    """With the defaults of sides that the file does not have."""
    scenario = load(file)
    sides = {side: endpoint(scenario, side).model_dump(mode="json") for side in ("client", "server")}
    return flat(sides | {"workload": scenario.model_dump(mode="json")["workload"]})


@pytest.mark.parametrize("name", [name for name, which in ALL.items() if which.spoilt])
def test_a_spoilt_scenario_differs_from_the_shipped_one_where_it_says(tmp_path, name):
    which = ALL[name]
    shipped, spoilt = keys_of(SCENARIOS / which.scenario), keys_of(spoil(which, tmp_path))
    assert {key: shipped[key] for key in which.shipped} == which.shipped
    assert {key for key in shipped if shipped[key] != spoilt[key]} == which.spoilt.keys() == which.shipped.keys()
    assert {key: spoilt[key] for key in which.spoilt} == which.spoilt


@pytest.mark.parametrize(
    ("over_file", "under_shipped", "back"),
    [(math.log(2), 0.0, 1.0), (math.log(1.5), math.log(1.5 / 2), 0.5), (0.0, math.log(1 / 2), 0.0), (0.01, 0.0, None)],
)
def test_what_is_back_is_a_share_of_what_was_lost(over_file, under_shipped, back):
    found = Result("x", SimpleNamespace(), over_file, under_shipped, 0.0).back
    assert found == (pytest.approx(back) if back is not None else None)
