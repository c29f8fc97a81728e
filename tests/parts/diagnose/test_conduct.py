"""How a diagnosis runs a scenario: in short windows."""

import pytest
from scenario_tools import ECHO, written

from windtunnel.parts.diagnose.conduct import load_in_short_windows

MS = 10**6


@pytest.mark.parametrize(("asked", "window"), [("250ms", 50 * MS), ("50ms", 50 * MS), ("70ms", 35 * MS), ("1ms", MS)])
def test_windows_are_divided_evenly_into_short_ones(tmp_path, asked, window):
    scenario = load_in_short_windows(written(tmp_path, ECHO | {"window": asked}), [])
    assert scenario.window == window


def test_what_is_set_is_divided_too(tmp_path):
    scenario = load_in_short_windows(written(tmp_path, ECHO), ["window=100ms", "duration=1s"])
    assert (scenario.window, scenario.duration) == (50 * MS, 1000 * MS)
