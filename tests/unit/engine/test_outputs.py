"""The files of an engine are made in the directory that was opened, and nothing that is there already is written."""

import os
from pathlib import Path

import pytest
from sample_plan import make_plan

from windtunnel.engine.lines import Error
from windtunnel.engine.outputs import Outputs
from windtunnel.engine.plan import Plan, Trace
from windtunnel.errors import UserError


@pytest.fixture
def run(tmp_path) -> Path:
    directory = tmp_path / "run"
    directory.mkdir()
    return directory


def recording(directory: Path) -> Plan:
    """A plan that records frames and loops into the directory."""
    trace = Trace(path=str(directory / "trace.bin"), every=7, limit_events=1)
    return make_plan().model_copy(update={"record": str(directory / "frames.pcap"), "trace": trace})


@pytest.mark.parametrize("planted", ["a link", "a link to nothing", "a file", "a FIFO"])
def test_a_log_that_is_there_already_is_not_written(tmp_path, run, planted):
    victim = tmp_path / "victim"
    if planted != "a link to nothing":
        victim.write_text("the victim's own")
    if planted.startswith("a link"):
        (run / "engine.log").symlink_to(victim)
    elif planted == "a file":
        os.link(victim, run / "engine.log")
    else:
        os.mkfifo(run / "engine.log")
    with pytest.raises(UserError, match=f"^{run}/engine.log: cannot be written: File exists"):
        Outputs(run / "engine.log")
    assert victim.read_text() == "the victim's own" if planted != "a link to nothing" else not victim.exists()


def test_log_and_recordings_are_in_the_directory_that_was_opened(tmp_path, run):
    victim = tmp_path / "victim"
    victim.mkdir()
    with Outputs(run / "engine.log") as outputs:
        run.rename(tmp_path / "moved")
        run.symlink_to(victim)
        os.write(outputs.log, b"EAL")
        plan = outputs.plan(recording(run))
        Path(plan.record).write_text("frames")
        Path(plan.trace.path).write_text("loops")
    found = {path.name: path.read_text() for path in (tmp_path / "moved").iterdir()}
    assert found == {"engine.log": "EAL", "frames.pcap": "frames", "trace.bin": "loops"}
    assert list(victim.iterdir()) == []


def test_a_plan_that_records_nothing_is_handed_on_as_it_is(run):
    with Outputs(run / "engine.log") as outputs:
        assert outputs.plan(make_plan()) == make_plan()


def test_a_refusal_names_the_files_as_the_plan_does(run):
    plan = recording(run)
    with Outputs(run / "engine.log") as outputs:
        given = outputs.plan(plan)
        for path, named in ((given.record, plan.record), (given.trace.path, plan.trace.path)):
            line = Error(type="error", message=f"recording {path}: no space left", remedy=None)
            assert outputs.line(line, plan).message == f"recording {named}: no space left"
