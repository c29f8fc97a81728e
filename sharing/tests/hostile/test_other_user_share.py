"""Another user of this host, with write access to the temporary directory or to the daemon's port, changes nothing of ours.

Two user ids that nobody has: A shares, or restores; B attacks.
"""

import http.client
import json
import os
import shutil
import socket
import ssl
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
import tls_files
from crosses import cross
from daemon_tools import daemon, refused, tenant_toml, write
from live_tools import free_port
from other_users import python, user
from programs_of_users import process_of, program_of
from sharing_tools import CPUS, alone_on_this_machine, cpu_cgroup, until

from windtunnel_sharing import journal, threads

A, B = 61_871, 61_872
TOKEN = "0123456789abcdef0123456789abcdef"
GET_METRICS, SET = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n", b"SET 1 40\n"
pytestmark = [
    pytest.mark.root,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to become two other users"),
]


alone = pytest.fixture(alone_on_this_machine)


@pytest.fixture(autouse=True)
def both_can_run_it():
    if python(A, B) is None:
        pytest.skip("other users cannot run this Python, or not read this checkout")


def as_user(uid: int, code: str, *words: object) -> str:
    """What a Python program says as that user."""
    command = [python(A, B), "-c", code, *map(str, words)]
    return subprocess.run(command, **user(uid), check=True, capture_output=True, text=True).stdout


RESTORE = """
import io, json, sys
from contextlib import redirect_stderr, redirect_stdout
from windtunnel.cli import main
done = []
for words in json.loads(sys.argv[1]):
    sys.argv = ["windtunnel", "share", "restore", *words]
    with io.StringIO() as said, redirect_stdout(said), redirect_stderr(said):
        try:
            main()
        except SystemExit as end:
            done.append((end.code or 0, said.getvalue()))
print(json.dumps(done))
"""


def restore(*calls: list[str], **how) -> list[tuple[int, str]]:
    """`windtunnel share restore` with these words in turn: exit code, and all that was said."""
    command = [python(A, B), "-c", RESTORE, json.dumps(calls)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True, **how).stdout)


@pytest.fixture
def everybodys() -> Iterator[Path]:
    """A directory as /tmp is."""
    made = Path(tempfile.mkdtemp(dir="/tmp", prefix="windtunnel-test-"))
    made.chmod(0o1777)
    yield made
    shutil.rmtree(made)


@pytest.fixture
def fallback() -> Iterator[Path]:
    """Where A's journals are without a runtime directory."""
    path = Path("/tmp") / f"windtunnel-{A}"
    assert not os.path.lexists(path)
    yield path
    if path.is_symlink():
        path.unlink()
    elif path.exists():
        shutil.rmtree(path)


def forged(victim: int, file: Path) -> str:
    """A journal that A's own would look like: a thread to be changed, a process to be ended, a file to be written."""
    before = threads.read(victim)
    found = threads.stat(victim)
    contents = journal.Contents(holder=threads.Process(1, 1), helpers=[threads.Process(victim, found.started)])
    contents.entries[victim] = journal.Entry(
        victim, found.pid, found.started, found.started, before | {"nice": 19}, ours={"nice": [before["nice"]]}
    )
    contents.settings[str(file)] = "theirs"
    return "".join(json.dumps(line) + "\n" for line in journal.lines_of(contents))


PLACE = """
import os, sys
from pathlib import Path
directory, text, mode, name = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3], 8), sys.argv[4]
os.umask(0)
(directory / name).parent.mkdir(mode=mode, parents=True)
(directory / name).write_text(text)
directory.chmod(mode)
(directory / name).chmod(0o666)
"""
LINK = "import os, sys; os.symlink(sys.argv[1], sys.argv[2])"


@cross("mode, name, without", ["755", "777"], ["share.journal", "share/share.journal"], [True, False])
def test_a_journal_that_another_user_placed_is_refused(everybodys, fallback, mode, name, without):
    """B was first in the temporary directory, under the name that A's journals have."""
    mine = everybodys / "profile"
    mine.write_text("mine")
    os.chown(mine, A, A)
    directory = fallback if without else everybodys / "windtunnel"
    with process_of(A) as victim:
        before = threads.read(victim.pid)
        as_user(B, PLACE, directory, forged(victim.pid, mine), mode, name)
        how = user(A) if without else user(A, XDG_RUNTIME_DIR=str(everybodys))
        for code, said in restore([], [str(directory / name)], **how):
            assert code == 2 and f"of user {B}, and this is user {A}" in said
            assert "restored" not in said
        assert victim.poll() is None and threads.read(victim.pid) == before
    assert mine.read_text() == "mine"


def test_a_link_of_another_users_is_not_followed(everybodys, fallback):
    """It leads to a directory of A's, where a file has a journal's name."""
    (everybodys / "home").mkdir(mode=0o700)
    mine = everybodys / "home" / "notes.journal"
    mine.write_text("mine")
    for path in (everybodys / "home", mine):
        os.chown(path, A, A)
    as_user(B, LINK, everybodys / "home", fallback)
    [(code, said)] = restore([], **user(A))
    assert code == 2 and "a link" in said and mine.read_text() == "mine"


def test_a_journal_of_our_own_that_others_may_write_is_refused(everybodys):
    """A made it once with a careless umask, and B wrote it."""
    mine = everybodys / "profile"
    mine.write_text("mine")
    directory = everybodys / "windtunnel"
    directory.mkdir(mode=0o700)
    with process_of(A) as victim:
        file = directory / "a.journal"
        file.write_text(forged(victim.pid, mine))
        file.chmod(0o666)
        for path in (directory, file):
            os.chown(path, A, A)
        before = threads.read(victim.pid)
        how = user(A, XDG_RUNTIME_DIR=str(everybodys))
        [(code, said)] = restore([], **how)
        assert code == 2 and "other users may write it" in said
        file.chmod(0o600)
        [(code, said)] = restore([], **how)  # it is A's by now: what no journal of ours says is refused
        assert code == 2 and "is not below /proc/sys" in said
        assert victim.poll() is None and threads.read(victim.pid) == before
    assert mine.read_text() == "mine"


def test_root_does_not_restore_from_the_journal_of_a_user(everybodys):
    with process_of(B) as other, process_of(A) as victim:
        before = threads.read(victim.pid)
        text = forged(victim.pid, Path("/proc/sys/kernel/sched_autogroup_enabled"))
        directory = everybodys / "windtunnel"
        as_user(B, PLACE, directory, text, "700", "share.journal")
        [(code, said)] = restore([str(directory / "share.journal")], env=user(0)["env"])
        assert code == 2 and f"of user {B}, and this is user 0" in said
        assert threads.read(victim.pid) == before and other.poll() is None


HOLD = """
import sys
from windtunnel_sharing.changed_threads import held
from windtunnel_sharing.journal import directory
with held(directory() / "mine.journal") as journal:
    journal.change(int(sys.argv[1]), nice=int(sys.argv[2]))
    print("held", flush=True)
    sys.stdin.readline()
"""


def test_our_own_journals_are_ours_alone_and_found(fallback):
    """Without a runtime directory, and with both processes killed."""
    with process_of(A) as victim:
        before = os.getpriority(os.PRIO_PROCESS, victim.pid)
        after = before + 4
        command = [python(A, B), "-c", HOLD, str(victim.pid), str(after)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, **user(A)) as holder:
            assert holder.stdout.readline() == "held\n"
            found = fallback.stat()
            assert (found.st_uid, found.st_mode & 0o777) == (A, 0o700)
            assert os.getpriority(os.PRIO_PROCESS, victim.pid) == after
            refused = "import os, sys\ntry: os.listdir(sys.argv[1])\nexcept PermissionError: print('refused')"
            assert as_user(B, refused, fallback) == "refused\n"
            [(code, said)] = restore([str(fallback / "mine.journal")], **user(B))
            assert code == 2 and f"of user {A}, and this is user {B}" in said
            assert os.getpriority(os.PRIO_PROCESS, victim.pid) == after
            for child in threads.children()(holder.pid):
                os.kill(child, 9)
            holder.kill()
        # Only CAP_SYS_NICE may raise a priority again: without it the journal is kept for later.
        [(code, said)] = restore([], **user(A))
        assert code == 2 and f"nice could not be restored to {before}" in said and "the journal is kept" in said
        assert (fallback / "mine.journal").exists()


REQUESTS = """
import json, sys, urllib.error, urllib.request
for method, path, body, headers in json.loads(sys.argv[2]):
    request = urllib.request.Request(f"http://127.0.0.1:{sys.argv[1]}{path}", body.encode(), headers, method=method)
    try:
        print(urllib.request.urlopen(request).status)
    except urllib.error.HTTPError as error:
        print(error.code)
"""
CONNECT = """
import socket, sys
with socket.socket(socket.AF_UNIX) as connection:
    try: connection.connect(sys.argv[1])
    except PermissionError: print("refused")
"""
OPEN = """
import sys
for path in sys.argv[1:]:
    try: open(path)
    except PermissionError: print("refused")
"""


def test_with_the_daemons_port_and_no_token_nothing_is_changed(everybodys, alone):
    """B reaches the directory of the socket, and the port of the API."""
    port = free_port()
    (everybodys / "token").write_text(TOKEN)
    (everybodys / "token").chmod(0o600)
    head = f"cpus = {CPUS[-1:]}\nbe_cpus = 0"
    (everybodys / "reach").mkdir(mode=0o755)
    api = f'[api]\ntcp = "127.0.0.1:{port}"\ntoken_file = "token"\nsocket = "reach/share.sock"\n'
    with process_of(A) as victim, process_of(B) as other:
        file = write(everybodys, f"{api}{tenant_toml('a', victim.pid, weight=40)}", head)
        with daemon(file, socket=everybodys / "reach" / "share.sock") as running:
            assert as_user(B, CONNECT, running.socket) == "refused\n"
            assert as_user(B, OPEN, everybodys / "token", everybodys / "state") == "refused\n" * 2
            before = threads.read(victim.pid)
            asked = (
                ("PATCH", "/v1/tenants/a", {"weight": 90}),
                ("DELETE", "/v1/tenants/a", None),
                ("POST", "/v1/exit", None),
                ("POST", "/v1/tenants", {"name": "b", "pid": other.pid}),
                ("GET", "/v1/tenants", None),
            )
            headers = [
                {},
                *({"authorization": token} for token in ("Bearer ", f"Bearer {TOKEN[:-1]}", f"Basic {TOKEN}")),
            ]
            requests = [(*words, json.dumps(body), header) for *words, body in asked for header in headers]
            assert as_user(B, REQUESTS, port, json.dumps(requests)) == "401\n" * len(requests)
            with running.client() as client:
                (one,) = client.get("/v1/tenants")
                assert (one["name"], one["weight"], one["parked"]) == ("a", 40, False)
            assert threads.read(victim.pid) == before


FILLS = """
import json, socket, sys
held = []
for where in json.loads(sys.argv[1]):
    for _ in range(100):
        held.append(socket.socket(socket.AF_UNIX if isinstance(where, str) else socket.AF_INET))
        held[-1].connect(where if isinstance(where, str) else tuple(where))
print("ready", flush=True)
sys.stdin.read()
"""
REPORTS = """
import http.client, socket, sys
body = b'{"queue": 9}'
head = "POST /v1/tenants/a/report HTTP/1.1", "Host: x", "Content-Type: application/json", f"Content-Length: {len(body)}"
print("ready", flush=True)
made = {}
for line in sys.stdin:
    name, path = line.split()
    if name not in made:
        made[name] = socket.socket(socket.AF_UNIX)
        made[name].connect(path)
    made[name].sendall("\\r\\n".join([*head, "", ""]).encode() + body)
    with http.client.HTTPResponse(made[name]) as response:
        response.begin()
        response.read()
        print(response.status, flush=True)
"""


def asked(connection: socket.socket, message: bytes) -> str:
    """The status of a response, or the words of PvCC's; nothing if the connection has ended."""
    try:
        connection.sendall(message)
        if not message.startswith(b"GET"):
            return connection.recv(65536).decode().strip()
        with http.client.HTTPResponse(connection) as response:
            response.begin()
            response.read()
            return str(response.status)
    except (ConnectionError, http.client.BadStatusLine):
        return ""


@pytest.mark.parametrize("tls", [False, pytest.param(True, marks=tls_files.needs_openssl)])
def test_whoever_fills_the_daemons_doors_keeps_out_neither_its_owner_nor_a_tenant(everybodys, alone, tls):
    """Neither on connections that they have, one in its handshake among them, nor on new ones."""
    _, certificate, key = tls_files.make(everybodys) if tls else (None, None, None)
    (everybodys / "token").write_text(TOKEN)
    (everybodys / "token").chmod(0o600)
    (everybodys / "reach").mkdir(mode=0o755)
    tcp, metrics, pvcc = (("127.0.0.2", free_port()) for _ in range(3))
    keys = [f'{name} = "{host}:{port}"' for name, (host, port) in (("tcp", tcp), ("metrics", metrics))]
    keys += ['token_file = "token"', 'report_socket = "reach/report.sock"', 'socket = "reach/share.sock"']
    keys += [f'tls_certificate = "{certificate}"', f'tls_key = "{key}"'] if tls else []
    api = "\n".join(["[api]", *keys, "[pvcc]", f'listen = "{pvcc[0]}:{pvcc[1]}"'])
    reports = str(everybodys / "reach/report.sock")
    get = f"GET /v1/tenants HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {TOKEN}\r\n\r\n".encode()
    trusted = ssl.create_default_context(cafile=certificate) if tls else None

    def greeted(connection: socket.socket) -> socket.socket:
        return trusted.wrap_socket(connection, server_hostname=tcp[0]) if tls else connection

    with ExitStack() as stack:
        tenant = stack.enter_context(program_of(A, REPORTS))

        def reported(name: str) -> str:
            tenant.stdin.write(f"{name} {reports}\n")
            tenant.stdin.flush()
            return tenant.stdout.readline().strip()

        def connected(where: tuple[str, int]) -> socket.socket:
            return stack.enter_context(socket.create_connection(where, timeout=60))

        file = write(
            everybodys, f"{api}\n{tenant_toml('a', tenant.pid, weight=40)}", f"cpus = {CPUS[-1:]}\nbe_cpus = 0"
        )
        stack.enter_context(daemon(file, socket=everybodys / "reach" / "share.sock"))
        early, ungreeted = greeted(connected(tcp)), connected(tcp)
        seen, set_ = connected(metrics), connected(pvcc)
        ask_all = (
            lambda: asked(early, get),
            lambda: asked(seen, GET_METRICS),
            lambda: asked(set_, SET),
            lambda: reported("early"),
        )
        expected = ["200", "200", "OK", "200"]
        assert [ask() for ask in ask_all] == expected
        stack.enter_context(program_of(B, FILLS, json.dumps([tcp, metrics, pvcc, reports])))
        assert [ask() for ask in ask_all] == expected
        assert asked(greeted(ungreeted), get) == expected[0]
        late = [asked(greeted(connected(tcp)), get), asked(connected(metrics), GET_METRICS)]
        assert [*late, asked(connected(pvcc), SET), reported("late")] == expected


IS_FIRST = """
import os, socket, sys
name, *ports = sys.argv[1:]
named = socket.socket(socket.AF_UNIX)
named.bind(name)
there = [named, *(socket.create_server(("127.0.0.2", int(port))) for port in ports)]
print("ready", flush=True)
sys.stdin.readline()
os.unlink(name)
"""


def test_who_is_first_at_a_place_of_the_daemons_keeps_nobody_from_being_shared(everybodys, alone):
    """It listens there as soon as the place is free."""
    (everybodys / "token").write_text(TOKEN)
    (everybodys / "token").chmod(0o600)
    reports, (tcp, metrics, pvcc) = everybodys / "report.sock", (free_port() for _ in range(3))
    keys = [f'tcp = "127.0.0.2:{tcp}"', f'metrics = "127.0.0.2:{metrics}"', 'token_file = "token"']
    api = "\n".join(["[api]", *keys, 'report_socket = "report.sock"', "[pvcc]", f'listen = "127.0.0.2:{pvcc}"'])
    with process_of(A) as victim, program_of(B, IS_FIRST, reports, tcp, metrics, pvcc) as first:
        file = write(everybodys, f"{api}\n{tenant_toml('a', victim.pid, weight=40)}")
        with daemon(file) as running:
            assert running.said().count("not listening until the place is free: ") == 4
            assert os.sched_getaffinity(victim.pid) == {CPUS[-1]}
        with daemon(file) as running, running.client() as client:
            first.stdin.write("end\n")
            first.stdin.flush()
            until(lambda: running.said().count("the place is free, and listening: ") == 4, running.said)
            kinds = [event["event"] for event in client.get("/v1/events") if "listening" in event["event"]]
            assert kinds == ["not listening"] * 4 + ["listening"] * 4
            responses = {(tcp, GET_METRICS): "401", (metrics, GET_METRICS): "200", (pvcc, SET): "OK"}
            for (port, message), response in responses.items():
                with socket.create_connection(("127.0.0.2", port), timeout=60) as connection:
                    assert asked(connection, message) == response
            assert reports.stat().st_uid == 0 and reports.stat().st_mode & 0o777 == 0o666


def test_a_process_of_another_user_is_no_slicer_of_ours(everybodys):
    """Root may end every process: it ends none because a journal says that it was a helper, under a name that anybody may take."""
    everybodys.chmod(0o755)
    slicer = everybodys / "windtunnel-slicer"
    shutil.copy("/bin/sleep", slicer)
    (everybodys / "windtunnel").mkdir(mode=0o700)
    path = everybodys / "windtunnel" / "a.journal"
    with subprocess.Popen([slicer, "600"], **user(B)) as other:
        try:
            contents = journal.Contents(holder=threads.Process(1, 1), helpers=[threads.Process.of(other.pid)])
            journal.File(path, contents).close()
            [(code, said)] = restore([str(path)], env=user(0)["env"])
            assert (code, other.poll()) == (0, None), said
        finally:
            other.kill()


def test_whoever_has_a_cgroup_of_their_own_is_not_taken_out_of_it(tmp_path, alone):
    """The daemon has given up the right to write there, and could put nobody back: the process stayed in the shield."""
    with cpu_cgroup("windtunnel-test-theirs") as (hierarchy, group), process_of(A) as process:
        directory = threads.mounts()[hierarchy] / group[1:]
        (directory / "cgroup.procs").write_text(str(process.pid))
        for name in ("", "tasks", "cgroup.procs", "cgroup.threads"):
            if (directory / name).exists():
                os.chown(directory / name, A, A)
        before = threads.read(process.pid)
        with daemon(write(tmp_path / "own", tenant_toml("theirs", process.pid))) as running, running.client() as client:
            (why,) = [event["why"] for event in client.get("/v1/events") if event["event"] == "left out"]
            assert f"put back to its cgroup {hierarchy} {group}, which is of user {A}" in why
            assert threads.read(process.pid) == before
        assert threads.read(process.pid) == before


def test_a_state_in_a_directory_of_another_user_is_refused(tmp_path):
    """They could put a link to a directory of root's in its place, where the daemon would write its files over others."""
    file = write(tmp_path / "theirs")
    os.chown(tmp_path / "theirs", B, B)
    said = refused(file)
    assert "theirs/state: other users may put something else there" in said and "the daemon's `state`" in said
    assert not (tmp_path / "theirs/state").exists()
