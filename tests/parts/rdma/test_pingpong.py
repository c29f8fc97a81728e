"""What fi_pingpong prints, read for bench/rdma.py."""

import pytest
from bench_tools import results  # noqa: F401, the path to the harness
from harness.pingpong import us_of_a_transfer

from windtunnel.errors import UserError

SAID = """\
bytes   #sent   #ack     total       time     MB/sec    usec/xfer   Mxfers/sec
64      1k      =1k      125k        0.02s      7.35       8.70       0.11
"""


def test_the_time_of_a_transfer_is_read():
    assert us_of_a_transfer(SAID) == 8.7


@pytest.mark.parametrize("said", ["", SAID.splitlines()[0], SAID.replace("usec/xfer", "other")])
def test_what_is_no_table_is_refused(said):
    with pytest.raises(UserError, match="usec/xfer"):
        us_of_a_transfer(said)
