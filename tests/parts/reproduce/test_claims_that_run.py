"""Claims that are decided by this product's own commands, without a stand-in."""

import json
import os
import select
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import forked
import pytest
from processes import children

pytestmark = pytest.mark.slow
PATIENCE_S = 120


def reproduce(*arguments, cwd):
    return forked.run(["reproduce", *arguments], cwd=cwd, text=True, timeout=PATIENCE_S)


def test_claims_are_decided_kept_and_listed(tmp_path):
    done = reproduce("003/equations", "000/in-flight", "--out", "runs/mine", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    claims = json.loads(done.stdout)["claims"]
    assert {claim["id"]: claim["record"]["outcome"] for claim in claims} == {
        "000/in-flight": "holds",
        "003/equations": "holds",
    }
    assert "windtunnel check" in (tmp_path / "runs/mine/000-in-flight/refused.log").read_text()
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
        (["003/equations", "--out", "shared/out"], "error: shared/out: other users may write"),
    ],
)
def test_bad_input_is_refused(arguments, message, tmp_path):
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared").chmod(0o777)
    done = reproduce(*arguments, cwd=tmp_path)
    assert done.returncode == 2 and message in done.stderr and "Traceback" not in done.stderr


CLAIM = """\
id = "007/long"
place = "page 1"
says = "It takes long."
holds_if = "it ends"
[[command]]
name = "one"
run = "{run}"
[[quantity]]
what = "the answer"
at_least = 1
sql = "{sql}"
"""


def engine_of(child):
    """Of the child's, if it has started one."""
    return next(iter(children(child)), None)


def computing(child):
    """The child, if it has computed for longer than a start takes: it is within its query."""
    user, system = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()[11:13]
    return child if int(user) + int(system) > 3 * os.sysconf("SC_CLK_TCK") else None


@pytest.mark.parametrize(
    ("run", "sql", "begun"),
    [
        ("run echo --set duration=1h --out {out}", "SELECT 1 AS value", engine_of),
        ("wires", "SELECT sum(range) AS value FROM range(10000000000000)", computing),
    ],
)
def test_what_it_has_started_ends_with_it_even_if_it_is_killed(run, sql, begun, tmp_path):
    (tmp_path / "long.toml").write_text(CLAIM.format(run=run, sql=sql))
    command = ["reproduce", "long.toml", "--out", "out"]
    with forked.Command(command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as reproducing:
        last = child = None
        while last is None:
            assert reproducing.poll() is None
            for child in children(reproducing.pid):
                with suppress(FileNotFoundError):  # it was the one before
                    last = begun(child)
            time.sleep(0.01)
        ends = [os.pidfd_open(pid) for pid in {child, last}]
        reproducing.kill()
    try:
        for end in ends:
            assert select.select([end], [], [], PATIENCE_S)[0], "it goes on"
    finally:
        for end in ends:
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(end, signal.SIGKILL)
            os.close(end)
