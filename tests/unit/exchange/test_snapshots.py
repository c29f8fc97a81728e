"""Files of the kernel that the monitor has read twice: what lies between both, and errors."""

import pytest

from windtunnel.errors import UserError
from windtunnel.exchange.recorded import read_recorded
from windtunnel.exchange.recorded.proc_stat import name_of
from windtunnel.exchange.recorded.snapshots import head_of

BEFORE = "cpu  0 0 0 0 0 0 0 0 0 0\ncpu0 100 0 50 800 40 0 10 0 0 0\ncpu1 0 0 0 0 0 0 0 0 0 0\n"
AFTER = "cpu  0 0 0 0 0 0 0 0 0 0\ncpu0 160 0 60 815 45 0 20 0 0 0\ncpu2 0 0 0 0 0 0 0 0 0 0\n"
PLACE = "/sys/fs/resctrl"
FIRST = "mon_data/mon_L3_00/mbm_total_bytes 1000\nmon_data/mon_L3_01/mbm_total_bytes Unavailable\n"
LAST = "mon_data/mon_L3_00/mbm_total_bytes 7000\nmon_data/mon_L3_01/mbm_total_bytes 5\n"


def of_text(tmp_path, text):
    (tmp_path / "text").write_text(text)
    return read_recorded(tmp_path / "text")


def test_the_busy_share_is_of_the_time_between(tmp_path):
    found = of_text(tmp_path, head_of("/proc/stat", 0) + BEFORE + head_of("/proc/stat", 1) + AFTER)
    assert {reading.name: reading.value for reading in found.readings} == {name_of(0): 0.8}


def test_memory_traffic_is_a_second(tmp_path):
    found = of_text(tmp_path, head_of(PLACE, 1) + FIRST + head_of(PLACE, 4) + LAST)
    assert found.value("mbm_total_bytes") == 2000


def test_a_counter_that_fell_has_no_value(tmp_path):
    found = of_text(tmp_path, head_of(PLACE, 1) + LAST + head_of(PLACE, 4) + FIRST)
    assert found.value("mbm_total_bytes") is None and "reset" in found.readings[0].words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (head_of("/proc/stat", 0) + BEFORE, "one snapshot of /proc/stat"),
        (head_of("/proc/stat", 0) + "cpu0 1 2\n" + head_of("/proc/stat", 1) + AFTER, ':2: "cpu0 1 2" has not 8 times'),
        (head_of(PLACE, 0) + FIRST, "one snapshot of resctrl"),
        (head_of(PLACE, 0) + "a 1\n" + head_of(PLACE, 1) + "b 1\n", ":3: no counter of resctrl"),
    ],
)
def test_a_damaged_text_is_refused_with_its_line(tmp_path, text, words):
    with pytest.raises(UserError) as refused:
        of_text(tmp_path, text)
    assert words in refused.value.message and refused.value.remedy
