"""vCPU threads of a QEMU guest are found, and share a core like others. The guest is a boot sector that polls for ever."""

import json
import os
import shutil
import socket
import subprocess
import sys
import threading
from contextlib import contextmanager, suppress

import pytest
from sharing_tools import CPUS, ENDS_WITH_US, needs_rights, python_tenant, started, until

from windtunnel.errors import UserError
from windtunnel_sharing import threads
from windtunnel_sharing.changed_threads import held
from windtunnel_sharing.daemon import guests, roster
from windtunnel_sharing.daemon.keys import TenantKeys
from windtunnel_sharing.daemon.roster import Tenant, first_wish
from windtunnel_sharing.slicers import SLICERS, Member

pytestmark = pytest.mark.slow
QEMU = shutil.which("qemu-system-x86_64")
ANOTHER = 54321
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
POLLS = bytes.fromhex("fa ebfe").ljust(510, b"\0") + b"\x55\xaa"
"""cli; jmp to itself."""


def accelerators():
    return [
        "tcg",
        pytest.param(
            "kvm", marks=pytest.mark.skipif(not os.access("/dev/kvm", os.R_OK | os.W_OK), reason="no /dev/kvm here")
        ),
    ]


def listens(path):
    """Whether the socket takes connections: its file is there a moment before."""
    with socket.socket(socket.AF_UNIX) as connection:
        return connection.connect_ex(str(path)) == 0


@contextmanager
def guest(directory, accelerator, number):
    if QEMU is None:
        pytest.skip("qemu-system-x86_64 is not installed (tests/guest/packages installs it)")
    sector, monitor = directory / f"{number}.img", directory / f"{number}.qmp"
    sector.write_bytes(POLLS)
    options = (
        f"-accel {accelerator} -name polls{number},debug-threads=on -m 16 -display none -nodefaults -vga none "
        f"-qmp unix:{monitor},server=on,wait=off -drive format=raw,file={sector}"
    )
    command = [*ENDS_WITH_US, QEMU, *options.split()]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        try:
            until(lambda: listens(monitor) or process.poll() is not None)
            if process.poll() is not None:
                pytest.skip(f"no guest with {accelerator}: {process.stderr.read().decode()}")
            yield process.pid, monitor
        finally:
            process.kill()


@pytest.mark.alone
@needs_rights
@pytest.mark.parametrize("accelerator", accelerators())
def test_vcpus_share_a_core(tmp_path, accelerator):
    with guest(tmp_path, accelerator, 1) as (one, first), guest(tmp_path, accelerator, 2) as (two, second):
        asked = [guests.vcpus("a", monitor, os.geteuid()) for monitor in (first, second)]  # who answers has its threads
        named = [[tid for tid in threads.threads_of(pid) if "CPU" in threads.name(tid)] for pid in (one, two)]
        assert [list(each) for each in asked] == [[0], [0]] and [list(each.values()) for each in asked] == named
        tids = [each[0] for each in asked]
        before = [threads.read(tid) for tid in tids]
        with held(tmp_path / "a.journal") as journal, SLICERS["kicker"](journal) as slicer:
            slicer.start(CPUS[-1], 200_000)
            slicer.set_members([Member(tid) for tid in tids])
            ran = [0, 0]

            def both_ran():
                for at, member in enumerate(slicer.read().members):
                    ran[at] += member.ran_ns
                return all(ran)

            until(both_ran)
        assert [threads.read(tid) for tid in tids] == before


TWO_THREADS = "import threading, time; threading.Thread(target=time.sleep, args=(600,)).start(); time.sleep(600)"


@contextmanager
def listening(path, respond):
    """A server of one connection, with which `respond` is called on a thread."""
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        server.listen()

        def accept():
            connection, _ = server.accept()
            with connection:
                respond(connection)

        thread = threading.Thread(target=accept)
        thread.start()
        yield
        thread.join()


def qmp(path, tid):
    """What QEMU responds, of a guest with one vCPU."""

    def respond(connection):
        with connection.makefile("rwb") as file:
            for said in (
                [{"QMP": {}}],
                [{"return": {}}],
                [{"event": "RESUME"}, {"return": [{"cpu-index": 0, "thread-id": tid}]}],
            ):
                if "QMP" not in said[0]:
                    file.readline()
                file.write(b"".join(json.dumps(line).encode() + b"\n" for line in said))
                file.flush()

    return listening(path, respond)


def test_a_guest_is_a_tenant_by_its_vcpus(tmp_path, apart):
    with python_tenant(TWO_THREADS) as process:
        until(lambda: len(threads.threads_of(process.pid)) == 2)
        vcpu = max(threads.threads_of(process.pid))
        keys = TenantKeys(name="a", pid=process.pid, qmp="a.qmp")
        found = Tenant("a", 1, keys, first_wish(keys))
        with qmp(tmp_path / "a.qmp", vcpu):
            assert found.look(tmp_path) and found.tids == (vcpu,)
        assert not found.look(tmp_path) and found.tids == (vcpu,)  # it is asked once
        found.leave()


@pytest.mark.parametrize(
    "sent",
    [
        b'{"QMP": {}}\n{"return": {}}\n{"return": [{"cpu-index": 1e999, "thread-id": 1}]}\n',
        b'{"a":' * 100_000 + b"\n",
        b'{"QMP": {}}\n{"return": {}}\n{"return": 7}\n',
        b"",
        b"hello\n",
        b"[]\n",
        b'{"QMP": {}}\n' * 3,
        b'{"QMP": {}}\n{"error": {"desc": "no"}}\n',
        b'{"QMP": {}}\n{"error": {"desc": "' + b"x" * 500_000 + b'"}}\n',
        b'{"QMP": {}}\n{"error": {"desc": [' + b"1," * 100_000 + b"1]}}\n",
        b'{"QMP": {}}\n{"return": {}}\n{"return": [{"cpu-index": "' + b"x" * 500_000 + b'", "thread-id": 1}]}\n',
        b"x" * (2 << 20),
    ],
    ids=lambda sent: repr(sent[-20:]),
)
def test_a_server_without_qmp_is_refused(tmp_path, sent):
    def respond(connection):
        with suppress(OSError):
            connection.sendall(sent)
            connection.shutdown(socket.SHUT_WR)
            while connection.recv(4096):
                pass

    with listening(tmp_path / "a.qmp", respond), pytest.raises(UserError, match="no QMP server") as refused:
        guests.vcpus("a", tmp_path / "a.qmp", os.geteuid())
    assert len(refused.value.message) < 500


def test_no_socket_is_said(tmp_path):
    with pytest.raises(UserError, match="no QMP server"):
        guests.vcpus("a", tmp_path / "none", os.geteuid())


def test_a_peer_that_sends_a_byte_now_and_then_takes_no_longer(tmp_path, monkeypatch):
    """One deadline for all of it: each byte moved the one before."""
    clock = iter(range(1000))
    monkeypatch.setattr(guests.time, "monotonic", lambda: next(clock) / 100)  # 10 ms for each look at it
    with listening(tmp_path / "a.qmp", lambda connection: connection.sendall(b"{" * 200)):
        sent = {"count": 0}
        receive = socket.socket.recv

        class Slow(socket.socket):
            def recv(self, count):
                sent["count"] += 1
                return receive(self, 1)

        monkeypatch.setattr(guests.socket, "socket", Slow)
        with pytest.raises(UserError, match="no QMP server: timed out"):
            guests.vcpus("a", tmp_path / "a.qmp", os.geteuid())
    assert 0 < sent["count"] <= 100 * guests.PATIENCE_S


def test_a_guest_that_does_not_respond_is_not_asked_again_at_once(tmp_path, monkeypatch):
    asked = []

    def silent(name, path, user):
        asked.append(path)
        raise UserError("timed out")

    monkeypatch.setattr(roster, "vcpus", silent)
    keys = TenantKeys(name="a", pid=os.getppid(), qmp="a.qmp")
    one = Tenant("a", 1, keys, first_wish(keys))
    for words in ("timed out", "no QMP server a moment ago"):
        with pytest.raises(UserError, match=words):
            one._ask_for_vcpus(tmp_path / "a.qmp", os.getppid())
    monkeypatch.setattr(roster, "QMP_REST_S", 0.0)
    one._ask_again_at = 0.0
    with pytest.raises(UserError, match="timed out"):
        one._ask_for_vcpus(tmp_path / "a.qmp", os.getppid())
    assert len(asked) == 2


@contextmanager
def of_root(path):
    """A socket on which this process listens, and which nobody may reach by a tenant; afterwards, whether somebody did, and said something."""
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        server.listen()
        server.setblocking(False)
        said = []
        yield said
        with suppress(BlockingIOError):
            connection, _ = server.accept()
            with connection:
                said.append(connection.recv(4096))


@needs_root
@pytest.mark.parametrize("how", ["a link", "a link above", "of root", "of theirs by its name"])
def test_root_connects_to_no_socket_of_its_own_for_a_tenant(tmp_path, how):
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    os.chown(theirs, ANOTHER, -1)
    place = theirs / "a.qmp"
    real = place if how in ("of root", "of theirs by its name") else tmp_path / "roots.qmp"
    with of_root(real) as said:
        if how == "a link":
            place.symlink_to(real)
        elif how == "a link above":
            (theirs / "up").symlink_to(tmp_path)
            os.chown(theirs / "up", ANOTHER, -1, follow_symlinks=False)
            place = theirs / "up" / real.name
        elif how == "of theirs by its name":
            os.chown(real, ANOTHER, -1)
        with pytest.raises(UserError) as refused:
            guests.vcpus("a", place, ANOTHER)
    words = {
        "a link": f"a: {place} is a link",
        "of theirs by its name": f"a: at {place} user root listens, not {ANOTHER}",
    }
    assert refused.value.message == words.get(how, f"a: {place} is of user root, not of {ANOTHER}")
    assert said == ([b""] if how == "of theirs by its name" else [])


@needs_root
def test_a_socket_that_anybody_may_replace_is_refused(tmp_path):
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    theirs.chmod(0o777)
    with of_root(theirs / "a.qmp") as said, pytest.raises(UserError, match="may be replaced by others"):
        guests.vcpus("a", theirs / "a.qmp", 0)
    assert said == []


LISTENS = """
import json, os, socket
os.chdir(DIRECTORY)
os.setuid(USER)
server = socket.socket(socket.AF_UNIX)
server.bind("a.qmp")
server.listen()
print("ready", flush=True)
file = server.accept()[0].makefile("rwb")
for said in {"QMP": {}}, {"return": {}}, {"return": [{"cpu-index": 0, "thread-id": 7}]}:
    "QMP" in said or file.readline()
    file.write(json.dumps(said).encode() + b"\\n")
    file.flush()
"""


@needs_root
def test_a_guest_of_another_user_is_asked(tmp_path):
    os.chown(tmp_path, ANOTHER, -1)
    code = LISTENS.replace("DIRECTORY", repr(str(tmp_path))).replace("USER", str(ANOTHER))
    with started(sys.executable, "-S", "-c", code):
        assert guests.vcpus("a", tmp_path / "a.qmp", ANOTHER) == {0: 7}
