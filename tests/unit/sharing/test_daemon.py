"""The daemon as a whole: tenants taken in, moved, put back; kills, restarts, rights, a second daemon."""

import contextlib
import json
import os
import resource
import signal
import socket
import threading
from contextlib import contextmanager

import pytest
from daemon_tools import CPUS, daemon, start, tenant_toml, write
from sharing_tools import POLL, needs_rights, tenant, until

from windtunnel.errors import UserError
from windtunnel.sharing import threads
from windtunnel.sharing.daemon import rights
from windtunnel.sharing.softirqs import softirq_threads

pytestmark = [
    pytest.mark.slow,
    needs_rights,
    pytest.mark.root,
    pytest.mark.skipif(len(CPUS) < 2, reason="needs two CPUs"),
]
STRAYS = f"""
import os
os.setgroups([]); os.setgid(65534); os.setuid(65534)
while True:
    try: os.sched_setaffinity(0, {{{CPUS[0]}}})
    except OSError: pass
"""
HEAD = f"cpus = {CPUS}\nbe_cpus = 0"
NEW_THREAD = """
import sys, threading, time
sys.stdin.readline()
threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
while True: time.sleep(60)
"""


def group_of(running):
    """The name of the daemon's cgroups."""
    return f"windtunnel-share-{running.process.pid}-{threads.started(running.process.pid)}"


def affinity(pid):
    return sorted(os.sched_getaffinity(pid))


def test_tenants_are_shared_out_resized_and_put_back(tmp_path):
    with tenant() as one, tenant() as two, tenant() as batch:
        before = {process.pid: threads.read(process.pid) for process in (one, two, batch)}
        toml = tenant_toml("a", one.pid, weight=128) + tenant_toml("b", two.pid, weight=128)
        file = write(tmp_path, toml + tenant_toml("work", batch.pid, pool="be"), HEAD)
        with daemon(file) as running, running.client() as client:
            assert affinity(one.pid) == affinity(two.pid) == [CPUS[-1]]
            assert affinity(batch.pid) == CPUS[:-1]
            planned = client.ask("PATCH", "/v1/tenants/a", {"weight": 256})
            assert planned["ls"] == [CPUS[-1], CPUS[-2]]
            assert affinity(one.pid) != affinity(two.pid)
            if len(CPUS) == 2:  # ls has all: batch runs when they are idle
                assert os.sched_getscheduler(batch.pid) == os.SCHED_IDLE
            client.ask("POST", "/v1/exit")
            assert affinity(one.pid) == affinity(two.pid) == CPUS
            assert os.sched_getscheduler(batch.pid) == os.SCHED_OTHER
            client.ask("PATCH", "/v1/tenants/b", {"weight": 1})
            assert affinity(two.pid) == [CPUS[-1]]
        assert {pid: threads.read(pid) for pid in before} == before
        assert not list((tmp_path / "state").glob("*.journal"))


def test_after_a_kill_every_tenant_is_as_it_was(tmp_path):
    with tenant() as one, tenant(POLL) as two:
        os.sched_setaffinity(one.pid, CPUS[:1])
        before = {process.pid: threads.read(process.pid) for process in (one, two)}
        file = write(tmp_path, tenant_toml("a", one.pid) + tenant_toml("b", two.pid), HEAD)
        softirqs = softirq_threads(CPUS)
        with daemon(file) as running:
            assert affinity(one.pid) == [CPUS[-1]]
            assert {os.sched_getscheduler(tid) for tid in softirqs} <= {os.SCHED_FIFO}
            shield = group_of(running)
            if (controller := threads.mounts().get("cpu")) is not None:
                assert threads.cgroups_of(two.pid)["cpu"] == f"/{shield}"
                assert (controller / shield / "cpu.shares").read_text() == "262144\n"
            running.kill()
            until(lambda: all(threads.read(pid) == then for pid, then in before.items()))
            until(lambda: controller is None or not (controller / shield).exists())
            until(lambda: {os.sched_getscheduler(tid) for tid in softirqs} <= {os.SCHED_OTHER})


def test_a_process_of_that_name_is_no_softirq_thread(tmp_path, monkeypatch):
    for pid, name, flags in (
        (11, "ksoftirqd/0", 0x04208040),
        (12, "ksoftirqd/0", 0x00400000),
        (13, "ksoftirqd/1", 0x04208040),
    ):
        (tmp_path / str(pid)).mkdir()
        (tmp_path / str(pid) / "comm").write_text(f"{name}\n")
        (tmp_path / str(pid) / "stat").write_text(f"{pid} ({name}) S 2 0 0 0 -1 {flags}{' 0' * 14}\n")
        (tmp_path / str(pid) / "status").write_text(f"Tgid: {pid}\n")
    (tmp_path / "14").mkdir()  # has ended meanwhile
    monkeypatch.setattr(threads, "PROC", tmp_path)
    assert softirq_threads([0]) == [11]


def test_state_survives_a_kill_and_the_file_holds_where_it_is_changed(tmp_path):
    with tenant() as one, tenant() as two, tenant() as three:
        toml = tenant_toml("a", one.pid, weight=64) + tenant_toml("b", two.pid, weight=64)
        file = write(tmp_path, toml, HEAD)
        with daemon(file) as running:
            with running.client() as client:
                client.ask(
                    "POST", "/v1/batch", {"changes": [{"tenant": "a", "weight": 100}, {"tenant": "b", "weight": 90}]}
                )
                client.ask("POST", "/v1/tenants", {"name": "c", "pid": three.pid, "weight": 7})
            until(lambda: '"c"' in (tmp_path / "state" / "state.json").read_text())
            running.kill()
        write(tmp_path, tenant_toml("a", one.pid, weight=64) + tenant_toml("b", two.pid, weight=32), HEAD)
        with daemon(file) as running, running.client() as client:
            assert {one["name"]: one["weight"] for one in client.get("/v1/tenants")} == {"a": 100, "b": 32, "c": 7}
            assert affinity(three.pid) == [CPUS[-1]]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "not a state"),
        ('{"schema": 2, "tenants": []}', "schema 2"),
        ('{"tenants": [{"name": 3}]}', "tenants.0.name"),
    ],
)
def test_a_state_that_is_not_ours_is_refused(tmp_path, text, words):
    file = write(tmp_path, "")
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "state.json").write_text(text)
    process = start(file)
    _, said = process.communicate(timeout=60)
    assert (process.returncode, words in said) == (2, True), said


def test_a_second_daemon_is_refused_in_words(tmp_path):
    (tmp_path / "other").mkdir()
    with daemon(write(tmp_path, "", HEAD)) as running:
        for directory, words in (
            (tmp_path, f"process {running.process.pid}"),
            (tmp_path / "other", "another daemon shares CPU"),
        ):
            process = start(write(directory, "", HEAD))
            _, said = process.communicate(timeout=60)
            assert (process.returncode, words in said) == (2, True), said
        with running.client() as client:
            assert client.get("/v1/tenants") == []


def test_one_that_dies_gives_its_weight_back_and_one_that_comes_is_taken_in(tmp_path):
    with tenant() as one, tenant() as two:
        toml = tenant_toml("a", one.pid, weight=200) + tenant_toml("b", two.pid, weight=56)
        pidfile = '[[tenant]]\nname = "late"\npidfile = "late.pid"\nweight = 30\n'
        with daemon(write(tmp_path, toml + pidfile, HEAD)) as running, running.client() as client:
            one.kill()
            one.wait()
            until(lambda: client.get("/v1/pools")["weight"] == 56)
            assert client.get("/v1/tenants/a")["pid"] is None
            with tenant() as late:
                (tmp_path / "late.pid").write_text(f"{late.pid}\n")
                until(lambda: client.get("/v1/tenants/late")["pid"] == late.pid)
                until(lambda: affinity(late.pid) == [CPUS[-1]])
                assert client.get("/v1/pools")["weight"] == 86
            until(lambda: client.get("/v1/pools")["weight"] == 56)
            kinds = [event["event"] for event in client.get("/v1/events")]
            assert kinds.count("ended") == 2


def test_new_threads_are_taken_in(tmp_path):
    with (
        tenant(NEW_THREAD) as one,
        daemon(write(tmp_path, tenant_toml("a", one.pid), HEAD)) as running,
        running.client() as client,
    ):
        assert client.get("/v1/tenants/a")["threads"] == [one.pid]
        one.stdin.write("\n")
        one.stdin.flush()
        until(lambda: len(client.get("/v1/tenants/a")["threads"]) == 2)
        tids = client.get("/v1/tenants/a")["threads"]
        until(lambda: all(affinity(tid) == [CPUS[-1]] for tid in tids))


@pytest.mark.parametrize("strays", ["put back", "leave"])
def test_one_that_changes_its_affinity_is_told_and_put_right_or_left(tmp_path, strays):
    with tenant() as one:
        file = write(tmp_path, tenant_toml("a", one.pid), f'{HEAD}\nstrays = "{strays}"')
        with daemon(file) as running, running.client() as client:
            os.sched_setaffinity(one.pid, CPUS[:1])
            until(lambda: any(event["event"] == "strayed" for event in client.get("/v1/events")))
            if strays == "put back":
                until(lambda: affinity(one.pid) == [CPUS[-1]])
            else:
                assert affinity(one.pid) == CPUS[:1]


@contextmanager
def confined(tmp_path):
    """A daemon with two tenants, of which `a` strayed until it was confined; that one, and the directory of its cpuset."""
    mount = threads.mounts().get("cpuset")
    if mount is None or not os.access(mount, os.W_OK):
        pytest.skip("no cpusets of cgroup v1 can be made here")
    with tenant(STRAYS) as one, tenant() as two:
        before = threads.cgroups_of(one.pid)["cpuset"]
        toml = tenant_toml("a", one.pid) + tenant_toml("b", two.pid)
        with daemon(write(tmp_path, toml, HEAD)) as running, running.client() as client:
            until(lambda: any(event["event"] == "confined" for event in client.get("/v1/events")))
            group = mount / group_of(running)
            yield running, client, one, group
        until(lambda: threads.cgroups_of(one.pid)["cpuset"] == before)
        until(lambda: not group.exists())


def test_one_that_strays_again_and_again_is_kept_where_it_belongs(tmp_path):
    with confined(tmp_path) as (_, client, one, group):
        told = [event for event in client.get("/v1/events") if event["event"] == "confined"]
        assert [(event["tenant"], event["tid"], event["cpus"]) for event in told] == [("a", one.pid, [CPUS[-1]])]
        assert "windtunnel_share_confined_total 1.0" in client.text("/metrics")
        for weights in ({"a": 128, "b": 128}, {"a": 256, "b": 128}, {"a": 64, "b": 256}, {"a": 64, "b": 64}):
            changes = [
                {"tenant": name, "weight": weight} for name, weight in sorted(weights.items(), key=lambda w: w[1])
            ]
            client.ask("POST", "/v1/batch", {"changes": changes})
            cpus = client.get("/v1/tenants/a")["cpus"]
            assert threads.cgroups_of(one.pid)["cpuset"] == f"/{group.name}/{cpus[0]}"
            assert {tuple(affinity(one.pid)) for _ in range(5000)} == {tuple(cpus)}


def test_one_that_is_confined_is_let_go_after_a_kill(tmp_path):
    with confined(tmp_path) as (running, *_):
        running.kill()


def test_a_tenant_that_cannot_be_is_refused_with_nothing_changed(tmp_path):
    with tenant() as one, tenant() as two:
        before = threads.read(one.pid)
        file = write(
            tmp_path, tenant_toml("a", one.pid, weight=256) + tenant_toml("b", two.pid, weight=1), f"cpus = {CPUS[-2:]}"
        )
        process = start(file)
        _, said = process.communicate(timeout=60)
        assert process.returncode == 2
        assert "tenant b: weights of 257 need 2 CPUs, and ls has at most 1" in said
        assert threads.read(one.pid) == before


def test_pvccs_client_and_http_see_the_same(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with tenant() as one, tenant() as two:
        toml = tenant_toml("a", one.pid) + tenant_toml("b", two.pid) + f'[pvcc]\nlisten = "127.0.0.1:{port}"\n'
        with daemon(write(tmp_path, toml, HEAD)) as running, running.client() as client:
            heard = threading.Event()

            def watch():
                with running.client() as watcher:
                    for event in watcher.watch(since=0):
                        if event["event"] == "changed" and event["tenant"] == "b":
                            heard.set()
                            return

            listening = threading.Thread(target=watch, daemon=True)
            listening.start()
            with socket.create_connection(("127.0.0.1", port)) as old:
                old.sendall(b"SET 2 77")
                assert old.recv(1024) == b"OK\n"
                old.sendall(b"SET 9 77")
                assert old.recv(1024).startswith(b"NG no tenant")
            assert client.get("/v1/tenants/b")["weight"] == 77
            assert heard.wait(60)


def test_pvccs_protocol_is_off_or_on_a_unix_socket_or_where_it_is_set(tmp_path):
    path = tmp_path / "state" / "pvcc.sock"
    with daemon(write(tmp_path, "", HEAD)):
        assert not path.exists()
    for keys, where in (("", path), ('listen = "./mine.sock"', tmp_path / "mine.sock")):
        with tenant() as one, daemon(write(tmp_path, f"[pvcc]\n{keys}\n" + tenant_toml("a", one.pid), HEAD)) as running:
            assert os.stat(where).st_mode & 0o777 == 0o600
            with socket.socket(socket.AF_UNIX) as old, running.client() as client:
                old.connect(str(where))
                old.sendall(b"SET 1 77")
                assert old.recv(1024) == b"OK\n"
                assert client.get("/v1/tenants/a")["weight"] == 77
                with socket.socket(socket.AF_UNIX) as page:
                    page.connect(str(where))
                    page.sendall(b"POST / HTTP/1.1\r\nHost: x\r\n\r\nSET 1 1\nEXIT\n")
                    with contextlib.suppress(ConnectionResetError):
                        assert page.recv(1024) == b""
                assert client.get("/v1/tenants/a")["weight"] == 77
        assert not where.exists()


def test_only_the_rights_that_are_needed_are_kept(tmp_path):
    with daemon(write(tmp_path, "", HEAD)) as running:
        status = (threads.PROC / str(running.process.pid) / "status").read_text()
        fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
        kept = sum(1 << number for number in rights.KEPT.values())
        for name in ("CapPrm", "CapEff", "CapBnd", "CapInh"):
            held = int(fields[name], 16)
            assert held >> rights.SYS_NICE & 1
            assert held & ~kept == 0
        assert fields["NoNewPrivs"] == "1"
        assert os.stat(running.socket).st_mode & 0o777 == 0o600


def test_without_cap_sys_nice_it_says_so(tmp_path):
    status = tmp_path / "status"
    status.write_text("CapPrm:\t0\nCapEff:\t0\nCapBnd:\t0\n")
    with pytest.raises(UserError, match="CAP_SYS_NICE is missing") as refused:
        rights.check(status)
    assert "AmbientCapabilities" in refused.value.remedy
    process = start(write(tmp_path, "", HEAD), "setpriv", "--bounding-set=-sys_nice", "--inh-caps=-sys_nice")
    _, said = process.communicate(timeout=60)
    assert (process.returncode, "CAP_SYS_NICE is missing" in said) == (2, True), said


def test_ctrl_c_puts_everything_back(tmp_path):
    with tenant() as one:
        before = threads.read(one.pid)
        with daemon(write(tmp_path, tenant_toml("a", one.pid), HEAD)) as running:
            running.process.send_signal(signal.SIGINT)
            assert running.process.wait(60) == 0
        assert threads.read(one.pid) == before


def events(client, kind):
    return [event for event in client.get("/v1/events") if event["event"] == kind]


def test_a_full_disk_ends_nobodys_sharing_and_changes_nobody_unrecorded(tmp_path):
    """No file of the daemon's may grow: what is kept is as it was, and follows when there is room again."""
    kept = tmp_path / "state" / "state.json"
    with tenant() as one, tenant() as two:
        before = threads.read(two.pid)
        with daemon(write(tmp_path, tenant_toml("a", one.pid), HEAD)) as running, running.client() as client:
            until(lambda: '"a"' in kept.read_text())
            full = (0, resource.RLIM_INFINITY)
            limits = resource.prlimit(running.process.pid, resource.RLIMIT_FSIZE, full)
            client.ask("PATCH", "/v1/tenants/a", {"weight": 77})
            until(lambda: events(client, "state not saved"))
            (said,) = events(client, "state not saved")
            assert "cannot be written" in said["why"] and '"weight":77' not in kept.read_text()
            with pytest.raises(UserError, match="share.journal: cannot be written"):
                client.ask("POST", "/v1/tenants", {"name": "b", "pid": two.pid})
            assert threads.read(two.pid) == before
            assert client.get("/v1/tenants/a")["weight"] == 77 and affinity(one.pid) == [CPUS[-1]]
            resource.prlimit(running.process.pid, resource.RLIMIT_FSIZE, limits)
            until(lambda: events(client, "state saved"))
            assert '"weight":77' in kept.read_text()
            client.ask("POST", "/v1/tenants", {"name": "b", "pid": two.pid})
            assert affinity(two.pid) == [CPUS[-1]]
            running.process.terminate()
            said = running.process.stdout.read()
            assert "the state is not saved, and tried again" in said and "the state is saved again" in said
            assert running.process.wait(60) == 0


def test_a_pid_file_that_became_a_fifo_holds_nobody_up(tmp_path):
    pidfile = '[[tenant]]\nname = "late"\npidfile = "late.pid"\n'
    with tenant() as one:
        (tmp_path / "late.pid").write_text(f"{one.pid}\n")
        with daemon(write(tmp_path, pidfile, HEAD)) as running, running.client() as client:
            until(lambda: client.get("/v1/tenants/late")["pid"] == one.pid)
            (tmp_path / "late.pid").unlink()
            os.mkfifo(tmp_path / "late.pid")
            one.kill()
            one.wait()
            until(lambda: events(client, "ended"))
            for weight in range(20, 25):
                client.ask("PATCH", "/v1/tenants/late", {"weight": weight})
            assert client.get("/v1/tenants/late")["pid"] is None


def guardians(pid):
    """Of a daemon."""
    found = []
    for child in threads.children()(pid):
        words = (threads.PROC / str(child) / "cmdline").read_bytes().split(b"\0")
        found += [child] if b"windtunnel.sharing.guardian" in words and threads.stat(child) else []
    return found


def test_no_daemon_begins_while_the_guardian_of_another_one_restores(tmp_path):
    """It would take threads as it finds them for threads as they were."""
    with tenant() as one:
        file = write(tmp_path, tenant_toml("a", one.pid), HEAD)
        with daemon(file) as running:
            (guardian,) = guardians(running.process.pid)
            os.kill(guardian, signal.SIGSTOP)
            running.kill()
            (tmp_path / "other").mkdir()
            other = write(tmp_path / "other", tenant_toml("a", one.pid), HEAD)
            with start(other) as refused:
                assert "another daemon shares CPU" in refused.communicate()[1]
            os.kill(guardian, signal.SIGCONT)
            with daemon(other):
                pass
        assert affinity(one.pid) == CPUS


def test_a_guardian_that_is_killed_alone_has_a_successor(tmp_path):
    with tenant() as one:
        before = threads.read(one.pid)
        with daemon(write(tmp_path, tenant_toml("a", one.pid), HEAD)) as running:
            (first,) = guardians(running.process.pid)
            os.kill(first, signal.SIGKILL)
            until(lambda: guardians(running.process.pid) not in ([], [first]))
            with running.client() as client:
                until(lambda: events(client, "guardian"))
                assert "SIGKILL" in events(client, "guardian")[0]["why"]
            assert threads.read(one.pid) != before
            running.kill()
            until(lambda: threads.read(one.pid) == before)


def test_a_number_that_was_used_again_while_no_daemon_ran_is_left_alone(tmp_path):
    with tenant() as one:
        before = threads.read(one.pid)
        file = write(tmp_path, tenant_toml("a", one.pid), HEAD)
        state = tmp_path / "state" / "state.json"
        with daemon(file):
            assert affinity(one.pid) == [CPUS[-1]]
        kept = json.loads(state.read_text())
        assert kept["tenants"][0]["named"]["pid"] == one.pid
        kept["tenants"][0]["named"]["started"] -= 1  # another process had the number
        state.write_text(json.dumps(kept))
        with daemon(file) as running, running.client() as client:
            assert client.get("/v1/tenants/a")["pid"] is None and threads.read(one.pid) == before
            running.process.terminate()
            assert f"process {one.pid} is another one than before" in running.process.stdout.read()
        kept["boot"] = "another"  # then numbers and times say nothing
        state.write_text(json.dumps(kept))
        with daemon(file):
            assert affinity(one.pid) == [CPUS[-1]]


@pytest.mark.parametrize("name", ["state.json", "lock", "share.journal"])
def test_a_state_directory_that_others_may_write_is_refused(tmp_path, name):
    file = write(tmp_path, "", HEAD)
    (tmp_path / "state").mkdir()
    (tmp_path / "mine").write_text("mine")
    (tmp_path / "state" / name).symlink_to(tmp_path / "mine")
    (tmp_path / "state").chmod(0o777)
    process = start(file)
    _, said = process.communicate(timeout=60)
    assert (process.returncode, "other users may write it" in said) == (2, True), said
    assert (tmp_path / "mine").read_text() == "mine"
