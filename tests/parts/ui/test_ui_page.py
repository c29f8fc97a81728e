"""Facts on the page about the pages are those of the source."""

import re
from pathlib import Path

from windtunnel.index.index import MEMORY

PAGE = Path(__file__).parents[3] / "docs/how-to/watch-in-a-browser.md"


def test_the_memory_of_the_index_is_on_the_page():
    assert re.findall(r"the (\d+) MB that the index may have", PAGE.read_text()) == [MEMORY.removesuffix("MB")]
