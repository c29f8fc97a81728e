"""The daemon as a whole: tenants taken in, moved, put back; kills, restarts, rights, a second daemon."""

import contextlib
import json
import os
import resource
import signal
import socket
import subprocess
import sys
import threading

import pytest
from daemon_tools import daemon, refused, tenant_toml, write
from sharing_tools import (
    CPUS,
    POLL,
    alone_on_this_machine,
    as_before,
    needs_rights,
    needs_two_cpus,
    python_tenant,
    starting_tenant,
    tenant,
    until,
)

from windtunnel.errors import UserError
from windtunnel_sharing import threads
from windtunnel_sharing.daemon import rights
from windtunnel_sharing.pools import cgroups
from windtunnel_sharing.softirqs import softirq_threads

pytestmark = [pytest.mark.slow, needs_rights, pytest.mark.root, needs_two_cpus]
STRAYS = f"""
import os
os.setgroups([]); os.setgid(65534); os.setuid(65534)
while True:
    try: os.sched_setaffinity(0, {{{CPUS[0]}}})
    except OSError: pass
"""
NEW_THREAD = """
import sys, threading, time
sys.stdin.readline()
threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
while True: time.sleep(60)
"""
NAMES_ITSELF = """
import sys, threading, time
def work():
    print(threading.get_native_id(), flush=True)
    sys.stdin.readline()
    with open("/proc/thread-self/comm", "w") as name: name.write("lcore-1")
    time.sleep(60)
threading.Thread(target=work, daemon=True).start()
while True: time.sleep(60)
"""
LATE = '[[tenant]]\nname = "late"\npidfile = "late.pid"\nweight = 30\n'


alone = pytest.fixture(scope="module", autouse=True)(alone_on_this_machine)


def group_of(running):
    """The name of the daemon's cgroups."""
    return f"windtunnel-share-{running.pid}-{threads.started(running.pid)}"


def affinity(pid):
    return sorted(os.sched_getaffinity(pid))


def events(client, kind):
    return [event for event in client.get("/v1/events") if event["event"] == kind]


def end(process):
    process.kill()
    process.wait()


def test_tenants_are_shared_out_resized_and_put_back_by_ctrl_c(tmp_path):
    with tenant() as one, tenant() as two, tenant() as batch:
        before = {process.pid: threads.read(process.pid) for process in (one, two, batch)}
        toml = tenant_toml("a", one.pid, weight=128) + tenant_toml("b", two.pid, weight=128)
        with daemon(write(tmp_path, toml + tenant_toml("work", batch.pid, pool="be"))) as running:
            with running.client() as client:
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
            assert running.end(signal.SIGINT) == 0, running.said()
        assert as_before(before)()
        assert not list((tmp_path / "state").glob("*.journal"))
        assert not list((tmp_path / "state").glob("*.sock"))


@pytest.mark.alone
def test_after_a_kill_the_second_guardian_restores_every_tenant(tmp_path):
    softirqs = {tid: threads.read(tid) for tid in softirq_threads(CPUS)}
    with tenant() as one, tenant(POLL) as two:
        os.sched_setaffinity(one.pid, CPUS[:1])
        before = {process.pid: threads.read(process.pid) for process in (one, two)}
        with daemon(write(tmp_path, tenant_toml("a", one.pid) + tenant_toml("b", two.pid))) as running:
            assert affinity(one.pid) == [CPUS[-1]]
            assert {os.sched_getscheduler(tid) for tid in softirqs} <= {os.SCHED_FIFO}
            shield = group_of(running)
            if (controller := threads.mounts().get("cpu")) is not None:
                assert threads.cgroups_of(two.pid)["cpu"] == f"/{shield}"
                assert (controller / shield / "cpu.shares").read_text() == "262144\n"
            (first,) = running.guardians()
            os.kill(first, signal.SIGKILL)
            with running.client() as client:
                until(lambda: events(client, "guardian"), running.said)
                assert "SIGKILL" in events(client, "guardian")[0]["why"]
            assert first not in running.guardians() and not as_before(before)()
            running.kill()
            assert as_before(before | softirqs)()
            until(lambda: controller is None or not (controller / shield).exists())


@pytest.mark.alone
def test_what_a_tenant_has_started_is_let_go_and_after_a_kill_the_guardian_does_it(tmp_path):
    if isinstance(cgroups.find(), cgroups.Nowhere):
        pytest.skip("no cgroups: nothing tells whose an orphan is")
    with starting_tenant() as (one, start):
        before = threads.read(one.pid)
        with daemon(write(tmp_path, tenant_toml("a", one.pid))) as running, running.client() as client:
            group = group_of(running)
            started = [start("child"), start("orphan")]
            until(
                lambda: {tid for event in events(client, "released") for tid in event["tids"]} >= {*started},
                running.said,
            )
            assert as_before(dict.fromkeys(started, before))() and affinity(one.pid) == [CPUS[-1]]
            os.kill(running.pid, signal.SIGSTOP)
            late = start("orphan")
            running.kill()
        assert as_before(dict.fromkeys([one.pid, *started, late], before))()
        until(lambda: not any((mount / group).exists() for mount in threads.mounts().values()))


def test_state_survives_a_kill_and_the_file_holds_where_it_is_changed(tmp_path):
    with tenant() as one, tenant() as two, tenant() as three:
        file = write(tmp_path, tenant_toml("a", one.pid, weight=64) + tenant_toml("b", two.pid, weight=64))
        with daemon(file) as running:
            with running.client() as client:
                changes = [{"tenant": "a", "weight": 100}, {"tenant": "b", "weight": 90}]
                client.ask("POST", "/v1/batch", {"changes": changes})
                client.ask("POST", "/v1/tenants", {"name": "c", "pid": three.pid, "weight": 7})
            until(lambda: '"c"' in (tmp_path / "state" / "state.json").read_text())
            running.kill()
        write(tmp_path, tenant_toml("a", one.pid, weight=64) + tenant_toml("b", two.pid, weight=32))
        with daemon(file) as running, running.client() as client:
            assert {one["name"]: one["weight"] for one in client.get("/v1/tenants")} == {"a": 100, "b": 32, "c": 7}
            assert affinity(three.pid) == [CPUS[-1]]


def test_nobody_keeps_a_daemon_from_starting_by_an_abstract_name(tmp_path):
    """Any user may bind one: it was the claim of a CPU."""
    with contextlib.ExitStack() as stack:
        for cpu in CPUS:
            squatter = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
            squatter.bind(f"\0windtunnel-share-cpu{cpu}")
        with daemon(write(tmp_path)) as running:
            assert running.pid


def test_a_second_daemon_is_refused_in_words(tmp_path):
    with daemon(write(tmp_path / "one")) as running:
        assert f"process {running.pid}" in refused(write(tmp_path / "one"))
        assert "another daemon shares CPU" in refused(write(tmp_path / "other"))
        with running.client() as client:
            assert client.get("/v1/tenants") == []


def test_one_that_dies_gives_its_weight_back_and_one_that_comes_is_taken_in(tmp_path):
    with tenant() as one, tenant() as two:
        toml = tenant_toml("a", one.pid, weight=200) + tenant_toml("b", two.pid, weight=56)
        with daemon(write(tmp_path, toml + LATE)) as running, running.client() as client:
            end(one)
            until(lambda: client.get("/v1/pools")["weight"] == 56)
            assert client.get("/v1/tenants/a")["pid"] is None
            with tenant() as late:
                (tmp_path / "late.pid").write_text(f"{late.pid}\n")
                until(lambda: client.get("/v1/tenants/late")["pid"] == late.pid)
                until(lambda: affinity(late.pid) == [CPUS[-1]])
                assert client.get("/v1/pools")["weight"] == 86
            until(lambda: client.get("/v1/pools")["weight"] == 56)
            assert len(events(client, "ended")) == 2


def test_new_threads_are_taken_in(tmp_path):
    with (
        python_tenant(NEW_THREAD) as one,
        daemon(write(tmp_path, tenant_toml("a", one.pid))) as running,
        running.client() as client,
    ):
        assert client.get("/v1/tenants/a")["threads"] == [one.pid]
        one.stdin.write("\n")
        until(lambda: len(client.get("/v1/tenants/a")["threads"]) == 2)
        tids = client.get("/v1/tenants/a")["threads"]
        until(lambda: all(affinity(tid) == [CPUS[-1]] for tid in tids))


def test_a_thread_that_names_itself_late_is_taken_in(tmp_path):
    with python_tenant(NAMES_ITSELF) as one:
        tid = int(one.stdout.readline())
        file = write(tmp_path, tenant_toml("a", one.pid, threads="lcore-*"))
        with daemon(file) as running, running.client() as client:
            assert client.get("/v1/tenants/a")["threads"] == []
            one.stdin.write("\n")
            until(lambda: client.get("/v1/tenants/a")["threads"] == [tid])
            until(lambda: affinity(tid) == [CPUS[-1]])
            assert [event["tids"] for event in events(client, "thread in")] == [[tid]]


def test_one_that_changes_its_affinity_is_told_and_put_right(tmp_path):
    with (
        tenant() as one,
        daemon(write(tmp_path, tenant_toml("a", one.pid))) as running,
        running.client() as client,
    ):
        os.sched_setaffinity(one.pid, CPUS[:1])
        until(lambda: events(client, "strayed"))
        until(lambda: affinity(one.pid) == [CPUS[-1]])


@pytest.mark.alone
def test_one_that_strays_again_and_again_is_kept_where_it_belongs_and_let_go_after_a_kill(tmp_path):
    mount = threads.mounts().get("cpuset")
    if mount is None or not os.access(mount, os.W_OK):
        pytest.skip("no cpusets of cgroup v1 can be made here")
    with python_tenant(STRAYS) as one, tenant() as two:
        before = threads.cgroups_of(one.pid)["cpuset"]
        toml = tenant_toml("a", one.pid) + tenant_toml("b", two.pid)
        with daemon(write(tmp_path, toml)) as running, running.client() as client:
            until(lambda: events(client, "confined"))
            group = mount / group_of(running)
            told = events(client, "confined")
            assert [(event["tenant"], event["tid"], event["cpus"]) for event in told] == [("a", one.pid, [CPUS[-1]])]
            assert "windtunnel_share_confined_total 1.0" in client.text("/metrics")
            for a, b in ((128, 128), (256, 128), (64, 256), (64, 64)):
                changes = [{"tenant": name, "weight": weight} for weight, name in sorted(((a, "a"), (b, "b")))]
                client.ask("POST", "/v1/batch", {"changes": changes})
                cpus = client.get("/v1/tenants/a")["cpus"]
                assert threads.cgroups_of(one.pid)["cpuset"] == f"/{group.name}/{cpus[0]}"
                assert {tuple(affinity(one.pid)) for _ in range(5000)} == {tuple(cpus)}
            running.kill()
        assert threads.cgroups_of(one.pid)["cpuset"] == before
        until(lambda: not group.exists())


def test_a_tenant_for_which_there_is_no_room_is_left_out_with_words_until_there_is(tmp_path):
    with tenant() as one, tenant() as two:
        before = {two.pid: threads.read(two.pid)}
        toml = tenant_toml("a", one.pid, weight=256) + tenant_toml("b", two.pid, weight=1)
        with daemon(write(tmp_path, toml, f"cpus = {CPUS[-2:]}")) as running, running.client() as client:
            why = "weights of 257 need 2 CPUs, and ls has at most 1"
            until(lambda: f"tenant b is left out: {why}" in running.said(), running.said)
            assert "waiting for" not in running.said() and "not the one from before" not in running.said()
            assert [(event["tenant"], why in event["why"]) for event in events(client, "trouble")] == [("b", True)]
            assert affinity(one.pid) == [CPUS[-1]] and as_before(before)()
            client.ask("PATCH", "/v1/tenants/a", {"weight": 255})
            until(lambda: affinity(two.pid) == [CPUS[-1]], running.said)


def test_a_file_that_names_a_user_who_is_not_there_is_refused_with_nothing_changed(tmp_path):
    with tenant() as one, tenant() as two:
        before = {one.pid: threads.read(one.pid)}
        toml = tenant_toml("a", one.pid) + tenant_toml("b", two.pid, user="nobody-at-all")
        assert 'tenant b: b: no user "nobody-at-all"' in refused(write(tmp_path, toml))
        assert as_before(before)()


def test_pvccs_client_and_http_see_the_same(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with tenant() as one, tenant() as two:
        toml = tenant_toml("a", one.pid) + tenant_toml("b", two.pid) + f'[pvcc]\nlisten = "127.0.0.1:{port}"\n'
        with daemon(write(tmp_path, toml)) as running, running.client() as client:
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


@pytest.mark.parametrize(
    ("keys", "path"), [("[pvcc]", "state/pvcc.sock"), ('[pvcc]\nlisten = "./mine.sock"', "mine.sock")]
)
def test_pvccs_protocol_is_on_a_unix_socket_where_it_is_set(tmp_path, keys, path):
    with tenant() as one, daemon(write(tmp_path, f"{keys}\n{tenant_toml('a', one.pid)}")) as running:
        assert os.stat(tmp_path / path).st_mode & 0o777 == 0o600
        with socket.socket(socket.AF_UNIX) as old, socket.socket(socket.AF_UNIX) as page, running.client() as client:
            old.connect(str(tmp_path / path))
            old.sendall(b"SET 1 77")
            assert old.recv(1024) == b"OK\n"
            page.connect(str(tmp_path / path))
            page.sendall(b"POST / HTTP/1.1\r\nHost: x\r\n\r\nSET 1 1\nEXIT\n")
            with contextlib.suppress(ConnectionResetError):
                assert page.recv(1024) == b""
            assert client.get("/v1/tenants/a")["weight"] == 77
            assert "windtunnel_share_pvcc_foreign_total 1.0" in client.text("/metrics")
    assert not (tmp_path / path).exists()


def test_only_the_rights_that_are_needed_are_kept_and_only_the_api_is_open(tmp_path):
    with daemon(write(tmp_path)) as running:
        status = (threads.PROC / str(running.pid) / "status").read_text()
        fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
        kept = sum(1 << number for number in rights.KEPT.values())
        for name in ("CapPrm", "CapEff", "CapBnd", "CapInh"):
            held = int(fields[name], 16)
            assert held >> rights.SYS_NICE & 1
            assert held & ~kept == 0
        assert fields["NoNewPrivs"] == "1"
        assert os.stat(running.socket).st_mode & 0o777 == 0o600
        assert list((tmp_path / "state").glob("*.sock")) == [running.socket]


def test_without_cap_sys_nice_it_says_so(tmp_path):
    status = tmp_path / "status"
    status.write_text("CapPrm:\t0\nCapEff:\t0\nCapBnd:\t0\n")
    with pytest.raises(UserError, match="CAP_SYS_NICE is missing") as missing:
        rights.check(status)
    assert "AmbientCapabilities" in missing.value.remedy
    less = ["setpriv", "--bounding-set=-sys_nice", "--inh-caps=-sys_nice"]
    serve = ["share", "serve", "--from-anywhere", write(tmp_path)]
    command = [sys.executable, "-c", "from windtunnel.cli import main; main()", *serve]
    done = subprocess.run([*less, *command], check=False, capture_output=True, text=True)
    assert (done.returncode, "CAP_SYS_NICE is missing" in done.stderr) == (2, True), done.stderr


def test_a_full_disk_ends_nobodys_sharing_and_changes_nobody_unrecorded(tmp_path):
    """No file of the daemon's may grow: what is kept is as it was, and follows when there is room again."""
    kept = tmp_path / "state" / "state.json"
    with tenant() as one, tenant() as two:
        before = {two.pid: threads.read(two.pid)}
        with daemon(write(tmp_path, tenant_toml("a", one.pid))) as running, running.client() as client:
            until(lambda: '"a"' in kept.read_text())
            limits = resource.prlimit(running.pid, resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
            client.ask("PATCH", "/v1/tenants/a", {"weight": 77})
            until(lambda: events(client, "state not saved"))
            (said,) = events(client, "state not saved")
            assert "cannot be written" in said["why"] and '"weight":77' not in kept.read_text()
            with pytest.raises(UserError, match="share.journal: cannot be written"):
                client.ask("POST", "/v1/tenants", {"name": "b", "pid": two.pid})
            assert as_before(before)()
            assert client.get("/v1/tenants/a")["weight"] == 77 and affinity(one.pid) == [CPUS[-1]]
            resource.prlimit(running.pid, resource.RLIMIT_FSIZE, limits)
            until(lambda: events(client, "state saved"))
            assert '"weight":77' in kept.read_text()
            client.ask("POST", "/v1/tenants", {"name": "b", "pid": two.pid})
            assert affinity(two.pid) == [CPUS[-1]]
            assert "the state is not saved, and tried again" in running.said()
            assert "the state is saved again" in running.said()


def test_a_daemon_without_descriptors_goes_on(tmp_path):
    """A tenant ends, and that cannot be written; nor can /proc be read."""
    with tenant() as one, tenant() as two:
        both = tenant_toml("a", one.pid) + tenant_toml("b", two.pid)
        with daemon(write(tmp_path, both)) as running, running.client() as client:
            until(lambda: '"a"' in (tmp_path / "state" / "state.json").read_text())
            limits = resource.prlimit(running.pid, resource.RLIMIT_NOFILE)
            resource.prlimit(running.pid, resource.RLIMIT_NOFILE, (0, limits[1]))
            one.kill()
            until(lambda: "the state is not saved, and tried again" in running.said())
            resource.prlimit(running.pid, resource.RLIMIT_NOFILE, limits)
            until(lambda: "the state is saved again" in running.said())
            client.ask("PATCH", "/v1/tenants/b", {"weight": 77})
            until(lambda: affinity(two.pid) == [CPUS[-1]])


def test_no_daemon_begins_while_the_guardian_of_another_one_restores(tmp_path):
    """It would take threads as it finds them for threads as they were."""
    with tenant() as one, contextlib.ExitStack() as stack:
        with daemon(write(tmp_path / "one", tenant_toml("a", one.pid))) as running:
            (guardian,) = running.guardians()
            # also where this process is killed: the shell's input ends
            goes_on = subprocess.Popen(["sh", "-c", f"read line; kill -CONT {guardian}"], stdin=subprocess.PIPE)
            stack.callback(goes_on.communicate)
            os.kill(guardian, signal.SIGSTOP)
            running.end(signal.SIGKILL)
            other = write(tmp_path / "other", tenant_toml("a", one.pid))
            assert "another daemon shares CPU" in refused(other)
            goes_on.communicate()
            until(lambda: threads.stat(guardian) is None)
            with daemon(other):
                pass
        assert affinity(one.pid) == CPUS


def test_a_number_that_was_used_again_while_no_daemon_ran_is_left_alone(tmp_path):
    with tenant() as one:
        before = {one.pid: threads.read(one.pid)}
        file = write(tmp_path, tenant_toml("a", one.pid))
        state = tmp_path / "state" / "state.json"
        with daemon(file):
            assert affinity(one.pid) == [CPUS[-1]]
        kept = json.loads(state.read_text())
        assert kept["tenants"][0]["named"]["pid"] == one.pid
        kept["tenants"][0]["named"]["started"] -= 1  # another process had the number
        state.write_text(json.dumps(kept))
        with daemon(file) as running, running.client() as client:
            assert client.get("/v1/tenants/a")["pid"] is None and as_before(before)()
            assert f"process {one.pid} is not the one from before" in running.said()


def test_a_state_directory_that_others_may_write_is_refused(tmp_path):
    file = write(tmp_path)
    (tmp_path / "state").mkdir()
    (tmp_path / "mine").write_text("mine")
    (tmp_path / "state" / "lock").symlink_to(tmp_path / "mine")
    (tmp_path / "state").chmod(0o777)
    assert "other users may write it" in refused(file)
    assert (tmp_path / "mine").read_text() == "mine"
