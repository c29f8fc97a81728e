"""What `windtunnel check` says of a scenario, and that a run says the same."""

import in_process
from real_runs import execute
from scenario_tools import written


def checked(file, *words: str) -> tuple[int, str]:
    done = in_process.run("check", file, *words)
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
