"""The testbeds of a command, as a table."""

import pytest

from windtunnel.results.document import Marked
from windtunnel.results.status import parsers

BUSY = {"name": "alpha", "state": "running", "about": "0012", "runs": 11000, "utilisation": 0.934}
LOST = {"name": "beta", "state": "lost", "about": "silent for 30 s", "runs": 9, "utilisation": 0.5}
FREE = {"name": "gamma", "state": "free", "about": "", "runs": 0, "utilisation": 0.0}


def test_testbeds_are_a_table():
    status = parsers()["fleet"]({"waiting": 40, "testbeds": [BUSY, LOST, FREE]})
    assert status.caption == "Testbeds; 40 waiting for one"
    assert [list(column.cells) for column in status.table.columns] == [
        ["alpha", "beta", "gamma"],
        [Marked("running: 0012"), Marked("lost: silent for 30 s", "loss"), Marked("free")],
        [Marked("11,000"), Marked("9"), Marked("0")],
        [Marked("93%"), Marked("50%"), Marked("0%")],
    ]


@pytest.mark.parametrize("about", [None, {"waiting": 1}, {"waiting": 1, "testbeds": [BUSY | {"state": "odd"}]}])
def test_what_is_no_status_is_refused(about):
    with pytest.raises(ValueError, match="validation error"):
        parsers()["fleet"](about)
