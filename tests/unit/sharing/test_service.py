"""The unit file of the daemon."""

import shutil
import subprocess
from configparser import ConfigParser
from pathlib import Path

import pytest
from typer.testing import CliRunner

from windtunnel.sharing.cli import app

UNIT = Path(__file__).parents[3] / "setup" / "windtunnel-share.service"


def start() -> list[str]:
    unit = ConfigParser(interpolation=None)
    unit.optionxform = str
    unit.read_string(UNIT.read_text())
    return unit["Service"]["ExecStart"].split()


def test_what_it_starts_is_a_command_of_ours(tmp_path):
    file = tmp_path / "share.toml"
    file.write_text("")
    program, share, *words = start()
    assert (Path(program).name, share) == ("windtunnel", "share")
    done = CliRunner().invoke(app, [*words[:-1], str(file), "--check"])
    assert (done.exit_code, "valid, 0 tenants" in done.output) == (0, True), done.output


@pytest.mark.slow
def test_systemd_takes_it(tmp_path):
    if shutil.which("systemd-analyze") is None:
        pytest.skip("no systemd-analyze")
    there = tmp_path / UNIT.name
    there.write_text(UNIT.read_text().replace(start()[0], shutil.which("true")))
    done = subprocess.run(["systemd-analyze", "verify", there], capture_output=True, text=True, check=False)
    assert (done.returncode, [line for line in done.stderr.splitlines() if UNIT.name in line]) == (0, [])
