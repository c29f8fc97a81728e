"""A tenant of the share daemon, of another user than the daemon's, keeps none of the others from being shared.

Two user ids that nobody has: A is the victim's, B the attacker's.
"""

import os

import pytest
from daemon_tools import daemon, tenant_toml, write
from live_tools import free_port
from other_users import python
from programs_of_users import process_of, program_of
from sharing_tools import CPUS, alone_on_this_machine, until

A, B = 61_874, 61_875
pytestmark = [
    pytest.mark.root,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to become two other users"),
]


alone = pytest.fixture(alone_on_this_machine, autouse=True)


@pytest.fixture(autouse=True)
def both_can_run_it():
    if python(A, B) is None:
        pytest.skip("other users cannot run this Python, or not read this checkout")


THREAD = """
import os, threading, time
print("ready", flush=True)
threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
print(max(map(int, os.listdir("/proc/self/task"))), flush=True)
time.sleep(600)
"""


def test_whatever_a_tenant_does_the_daemon_starts_for_the_others(tmp_path):
    """By what is in the place of its pidfile, by a second process with the text of its command line, by a guest that says nothing."""
    theirs, text = tmp_path / "theirs", "windtunnel-test-text"
    theirs.mkdir()
    os.chown(theirs, B, B)
    with process_of(A) as victim, program_of(B, THREAD, text) as one, program_of(B, THREAD, text):
        numbers = {"open": one.pid, "of-another": victim.pid, "thread": int(one.stdout.readline())}
        for name, number in numbers.items():
            (theirs / name).write_text(f"{number}\n")
            os.chown(theirs / name, B, B)
        (theirs / "open").chmod(0o666)
        (theirs / "link").symlink_to("of-another")
        (theirs / "qmp").symlink_to("../state/share.sock")
        wrong = {
            "link": ('pidfile = "theirs/link"', "is a link"),
            "open": ('pidfile = "theirs/open"', "may be written by others"),
            "of-another": ('pidfile = "theirs/of-another"', f"process {victim.pid} is of user {A}, not of {B}"),
            "thread": ('pidfile = "theirs/thread"', f"is a thread of process {one.pid}"),
            "twice": (f'command = "{text}"\nuser = "{B}"', "several processes have"),
            "guest": (f'pid = {one.pid}\nqmp = "theirs/none"', "no QMP server"),
            "guest-of-root": (f'pid = {one.pid}\nqmp = "theirs/qmp"', "is a link"),
        }
        tables = [f'[[tenant]]\nname = "{name}"\n{by}\nweight = 20\n' for name, (by, _) in wrong.items()]
        file = write(tmp_path, "".join(tables) + tenant_toml("victim", victim.pid, weight=20))
        with daemon(file) as running, running.client() as client:
            assert os.sched_getaffinity(victim.pid) == {CPUS[-1]}
            for name, (_, why) in wrong.items():
                line = next(
                    line for line in running.said().splitlines() if line.startswith(f"tenant {name} is left out")
                )
                assert why in line
            trouble = [event for event in client.get("/v1/events") if event["event"] == "trouble"]
            assert {event["tenant"] for event in trouble} == wrong.keys()
            (theirs / "thread").write_text(f"{one.pid}\n")
            until(lambda: client.get("/v1/tenants/thread")["pid"] == one.pid, running.said)


def test_a_tenant_whose_token_is_unfit_keeps_the_daemon_from_nothing(tmp_path):
    """What it has put there is a link to the token of the daemon."""
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    os.chown(theirs, B, B)
    (tmp_path / "admin").write_text("a" * 40)
    (tmp_path / "admin").chmod(0o600)
    (theirs / "token").symlink_to("../admin")
    api = f'[api]\ntcp = "127.0.0.1:{free_port()}"\ntoken_file = "admin"\n'
    with process_of(A) as victim, process_of(B) as other:
        tables = tenant_toml("victim", victim.pid, weight=20) + tenant_toml(
            "theirs", other.pid, weight=20, report_token_file="theirs/token"
        )
        with daemon(write(tmp_path, api + tables)) as running, running.client() as client:
            assert "tenant theirs has no token to report with: theirs: " in running.said()
            (why,) = [event["why"] for event in client.get("/v1/events") if event["event"] == "token left out"]
            assert "theirs/token is a link" in why
            assert os.sched_getaffinity(victim.pid) == os.sched_getaffinity(other.pid) == {CPUS[-1]}
