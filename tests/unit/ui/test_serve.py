"""The server ends at once and in silence, also under a page that is open."""

from urllib.request import urlopen

import pytest
from ui_tools import free_port, served


@pytest.mark.slow
def test_an_open_page_does_not_hold_up_the_end(tmp_path):
    with served(tmp_path, free_port()) as address:
        events = urlopen(address + "events", timeout=60)
        assert events.readline().startswith(b"event: processes")
    assert events.read().endswith(b"\n\n")  # in order, and not cut off
