"""`windtunnel run` of a shipped scenario, shortened."""

import json

from scenario_tools import LENIENT
from typer.testing import CliRunner

from windtunnel.cli.app import app

SHORTER = ("duration=90ms", "warmup=30ms", "window=30ms", *LENIENT)


def run_short(file, out, *sets) -> dict:
    """`windtunnel run --json` to its end; what it printed."""
    command = ["run", str(file), "--json", "--out", str(out)]
    for change in (*SHORTER, *sets):
        command += ["--set", change]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, done.output or done.exception
    return json.loads(done.stdout)
