"""Claims that are decided by this product's own commands, without a stand-in."""

import json
import subprocess

import pytest

from windtunnel.engine.own_command import OWN_COMMAND

pytestmark = pytest.mark.slow
PATIENCE_S = 120


def reproduce(*arguments, cwd):
    command = [*OWN_COMMAND, "reproduce", *arguments]
    return subprocess.run(command, check=False, cwd=cwd, capture_output=True, text=True, timeout=PATIENCE_S)


def test_claims_are_decided_kept_and_listed(tmp_path):
    done = reproduce("003/equations", "000/in-flight", "--out", "runs/mine", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    claims = json.loads(done.stdout)["claims"]
    assert {claim["id"]: claim["record"]["outcome"] for claim in claims} == {
        "000/in-flight": "holds",
        "003/equations": "holds",
    }
    assert "windtunnel check" in (tmp_path / "runs/mine/000-in-flight/commands.log").read_text()
    assert "003/equations" in (tmp_path / "runs/mine/report.html").read_text()
    listed = reproduce(cwd=tmp_path)
    assert listed.returncode == 0 and "2 holds, " in listed.stdout, listed.stderr
    again = reproduce("000/in-flight", "--out", "runs/mine", cwd=tmp_path)
    assert again.returncode == 0 and "windtunnel check" not in again.stderr, "it was decided"


def test_what_this_host_lacks_is_named(tmp_path):
    done = reproduce("002/line-rate", cwd=tmp_path)
    assert done.returncode == 3 and "this needs a NIC" in done.stdout
    assert not (tmp_path / "runs").exists(), "nothing ran"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["000/none"], 'error: there is no claim "000/none"'),
        (["003", "--within", "soon"], "error: --within: "),
        (["mine.toml"], "error: mine.toml"),
    ],
)
def test_bad_input_is_refused(arguments, message, tmp_path):
    done = reproduce(*arguments, cwd=tmp_path)
    assert done.returncode == 2 and message in done.stderr and "Traceback" not in done.stderr
