"""How the probe comes into a command that is started."""

from pathlib import Path

import pytest

from windtunnel.errors import UserError
from windtunnel.parts.attach import way_in


def test_a_probe_that_the_loader_would_take_for_two_libraries_is_refused(monkeypatch):
    monkeypatch.setattr(way_in, "library", lambda: Path("/srv/my tools/libwindtunnel-attach.so"))
    with pytest.raises(UserError, match="takes no path with a blank"):
        way_in.start(["/bin/true"])
