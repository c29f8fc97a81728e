"""A run of the real engine predicts itself."""

import pytest
from real_runs import PATIENT, execute, scenario
from scenario_tools import LENIENT

from windtunnel.parts.models.capacity import what_if

pytestmark = pytest.mark.slow


def test_a_run_predicts_itself(tmp_path):
    data = scenario(accounting={"level": "cycles"}, client={"rate": "200kpps", "arrivals": "poisson"})
    capacity = what_if(execute(tmp_path, data, *LENIENT, *PATIENT).run, [])
    assert capacity.run_per_s > 0 and capacity.per_s > 0 and capacity.limit
