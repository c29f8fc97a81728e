"""What `windtunnel check` says of a scenario, and that a run says the same."""

from real_runs import execute
from scenario_tools import written
from typer.testing import CliRunner

from windtunnel.cli.app import app


def checked(file, *words: str) -> tuple[int, str]:
    done = CliRunner().invoke(app, ["check", str(file), *words])
    assert not done.exception or isinstance(done.exception, SystemExit), done.exception
    return done.exit_code, " ".join(done.output.split())


def refused_by_engine(directory, data: dict) -> str:
    """What `check` says; `run` refuses it too, and neither names a file that the user did not write."""
    code, said = checked(written(directory, data))
    assert code == 2, said
    [reason] = execute(directory, data).run.record.verdict.reasons
    assert reason.startswith("engine refused: ")
    assert "/cache/" not in said + reason
    return said
