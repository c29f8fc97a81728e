"""Where the native programs are found."""

import pytest

from windtunnel.api.errors import UserError
from windtunnel_sharing.native import SLICER, find_native


def test_a_program_that_others_may_have_put_beside_the_engine_is_refused(tmp_path, monkeypatch):
    engine, slicer = tmp_path / "copied/windtunnel-engine", tmp_path / "sharing/slicers" / SLICER
    for file in (engine, slicer):
        file.parent.mkdir(mode=0o755, parents=True)
        file.touch(0o755)
    monkeypatch.setenv("WINDTUNNEL_ENGINE", str(engine))
    assert find_native(SLICER) == slicer
    slicer.parent.chmod(0o777)
    with pytest.raises(UserError, match="other users than the engine's may have put it there"):
        find_native(SLICER)
