"""A library for the loader: what it would read as another one is refused."""

from pathlib import Path

import pytest

from windtunnel.engine.preload import preloading
from windtunnel.errors import UserError

LIBRARY = Path("/opt/windtunnel/lib/libprobe.so")


def test_it_comes_before_what_the_caller_has_there(monkeypatch):
    monkeypatch.delenv("LD_PRELOAD", raising=False)
    assert preloading(LIBRARY) == {"LD_PRELOAD": str(LIBRARY)}
    monkeypatch.setenv("LD_PRELOAD", "libother.so")
    assert preloading(LIBRARY) == {"LD_PRELOAD": f"{LIBRARY}:libother.so"}


@pytest.mark.parametrize("directory", ["/srv/my tools", "/srv/a:b", "/srv/$LIB"])
def test_a_path_that_the_loader_would_split_or_change_is_refused(directory):
    """`/srv/my tools/lib.so` is two to it, of which `tools/lib.so` is below the working directory."""
    with pytest.raises(UserError, match="takes no path with a blank, a colon or \\$"):
        preloading(Path(directory) / LIBRARY.name)
