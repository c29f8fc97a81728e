"""Which processes a tenant has; and which are never one."""

import dataclasses
import errno
import os
import subprocess
import threading
from contextlib import contextmanager
from pathlib import Path

import pytest
from journal_tools import raises_for
from pool_tools import Remembers
from pydantic import ValidationError
from sharing_tools import SLEEP, needs_rights, python_tenant, started, tenant, until

from windtunnel.errors import UserError
from windtunnel_sharing import rounds, threads
from windtunnel_sharing.daemon import command_lines, find_tenant, roster
from windtunnel_sharing.daemon.allocation import Sharing
from windtunnel_sharing.daemon.events import Events
from windtunnel_sharing.daemon.find_tenant import Found, find, others_commanded
from windtunnel_sharing.daemon.keys import BadValue, TenantKeys
from windtunnel_sharing.pools.plan import Machine

pytestmark = pytest.mark.slow
WORD = f"word-of-{os.getpid()}"


def keys(name="a", **by):
    return TenantKeys(name=name, **by)


def found(**by):
    return find(keys(**by), Path())


@pytest.fixture
def named(monkeypatch):
    """The command line of this process, which is that of the daemon here, has the word too."""
    read = command_lines.read
    own = {os.getpid(): WORD}
    monkeypatch.setattr(command_lines, "read", lambda pids, user: read(pids, user) | own)


def test_a_word_in_the_daemons_own_command_line_finds_the_tenant_alone(named, apart):
    with tenant(f"{SLEEP} # {WORD}") as one:
        assert found(command=WORD).pid == one.pid


def test_the_daemon_and_what_it_started_and_what_started_it_are_no_tenant(named):
    assert found(command=WORD) is None
    with tenant(f"{SLEEP} # {WORD}") as one:
        assert found(command=WORD) is None
        for pid in (one.pid, os.getpid(), os.getppid(), 1):
            with pytest.raises(UserError, match=f"a: process {pid} is this daemon, or was started by it"):
                found(pid=pid)


def test_two_of_a_command_are_refused_with_both_pids(apart):
    with tenant(f"{SLEEP} # {WORD}") as one, tenant(f"{SLEEP} # {WORD}") as two:
        both = ", ".join(map(str, sorted((one.pid, two.pid))))
        with pytest.raises(UserError, match=f'several processes have "{WORD}" in their command line: {both}'):
            found(command=WORD)


@pytest.mark.parametrize("by", ["pid", "pidfile"])
def test_a_thread_of_the_kernel_is_no_tenant(tmp_path, by):
    kernel = next((pid for pid in threads.pids() if (one := threads.stat(pid)) and one.kernel), None)
    if kernel is None:
        pytest.skip("the kernel's threads are not seen from here")
    (tmp_path / "pid").write_text(f"{kernel}\n")
    with pytest.raises(UserError, match=f"{kernel} is a thread of the kernel"):
        find(keys(**{by: kernel if by == "pid" else "pid"}), tmp_path)


def test_a_thread_is_told_its_process(apart):
    code = (
        "import threading, time\nthreading.Thread(target=time.sleep, args=(60,), daemon=True).start()\ntime.sleep(60)"
    )
    with python_tenant(code) as one:
        until(lambda: len(threads.threads_of(one.pid)) == 2)
        with pytest.raises(UserError, match=f"is a thread of process {one.pid}"):
            found(pid=threads.threads_of(one.pid)[1])


def test_a_pidfile_that_is_a_fifo_names_nobody(tmp_path, apart):
    os.mkfifo(tmp_path / "pid")
    assert find(keys(pidfile="pid"), tmp_path) is None
    (tmp_path / "pid").unlink()
    (tmp_path / "pid").write_text(f"{os.getppid()} and more\n")
    assert find(keys(pidfile="pid"), tmp_path) == there(os.getppid())


def there(pid, groups=()) -> Found:
    return Found(pid, threads.process_started(pid), groups)


@pytest.mark.parametrize(("older_s", "stale"), [(0, False), (60, True)])
def test_a_number_that_another_process_had_when_the_pidfile_was_written_names_nobody(tmp_path, apart, older_s, stale):
    """Who starts processes until one has the number in a file that somebody left is not the tenant."""
    file = tmp_path / "pid"
    with tenant(SLEEP) as one:
        file.write_text(f"{one.pid}\n")
        written = file.stat().st_mtime - older_s
        os.utime(file, (written, written))
        if not stale:
            assert find(keys(pidfile="pid"), tmp_path) == there(one.pid)
            return
        with pytest.raises(UserError, match=f"process {one.pid} began after {file} was written"):
            find(keys(pidfile="pid"), tmp_path)


OTHER = 61_871
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to become another user")


@contextmanager
def of_another_user(word=WORD):
    """A process of another user's with the word in its command line."""
    command = ["sh", "-c", f"{SLEEP} # {word}"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, user=OTHER, group=OTHER, extra_groups=[]) as process:
        try:
            until(lambda: threads.user(process.pid) == OTHER)
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize("by", ["pid", "qmp"])
def test_a_number_that_another_process_has_when_it_is_watched_is_nobody(tmp_path, apart, monkeypatch, by):
    """A guest is asked between: its tenant has the number of its process given to another one meanwhile."""
    sharing = Sharing(Machine((0, 1), 1), Remembers(), Events(), tmp_path)
    with tenant(SLEEP) as one:
        (tmp_path / "pid").write_text(f"{one.pid}\n")
        stat = threads.process_stat(one.pid)
        monkeypatch.setattr(threads, "process_started", lambda _: stat.started + 1)
        monkeypatch.setattr(roster, "vcpus", lambda *_: {0: one.pid})
        fds = len(os.listdir("/proc/self/fd"))
        added = sharing.add(keys("kv", pidfile="pid", **({"qmp": "qmp.sock", "threads": "*"} if by == "qmp" else {})))
        assert added.found is None and added.processes == {} and len(os.listdir("/proc/self/fd")) == fds


@needs_root
def test_a_word_that_another_user_has_is_no_tenant_unless_it_is_said(apart):
    with of_another_user() as theirs, tenant(f"{SLEEP} # {WORD}") as one:
        assert found(command=WORD) == there(one.pid) and found(command=WORD, user=str(OTHER)) == there(theirs.pid)
        assert f"process {theirs.pid} of user {OTHER}" in others_commanded(keys(command=WORD))
        assert others_commanded(keys(command=WORD, user="root")) is None
    with of_another_user():
        assert found(command=WORD) is None


@needs_root
def test_the_command_line_of_another_user_is_not_read(apart, monkeypatch):
    asked, read = [], command_lines.read
    monkeypatch.setattr(command_lines, "read", lambda pids, user: asked.extend(pids) or read(pids, user))
    with of_another_user() as theirs, tenant(f"{SLEEP} # {WORD}") as one:
        assert found(command=WORD) == there(one.pid) and one.pid in asked and theirs.pid not in asked


def test_of_a_long_command_line_the_beginning_is_read(apart):
    for words in ([WORD, "x" * 100_000, "y" * 100_000], ["x" * 100_000, "y" * 100_000, WORD]):
        with started("sh", "-c", f"echo ready\n{SLEEP}", *words) as one:
            assert len(command_lines.read([one.pid], os.geteuid())[one.pid]) == command_lines.MOST_BYTES
            assert found(command=WORD) == (there(one.pid) if words[0] == WORD else None)


@pytest.fixture
def kept(tmp_path, monkeypatch):
    """A process whose command line does not come before somebody writes here."""
    (tmp_path / "7").mkdir()
    os.mkfifo(tmp_path / "7" / "cmdline")
    monkeypatch.setattr(threads, "pids", lambda: [7])
    monkeypatch.setattr(find_tenant, "_real_user", lambda pid: OTHER)
    monkeypatch.setattr(threads, "PROC", tmp_path)
    monkeypatch.setattr(command_lines, "_waiting", {})
    return tmp_path / "7" / "cmdline"


def test_a_process_that_keeps_its_command_line_stops_nobody(kept, monkeypatch):
    """As one does that holds the lock of its memory. It is waited for once, and by one thread."""
    before = threading.active_count()
    for patience_s in (command_lines.PATIENCE_S, 60):
        monkeypatch.setattr(command_lines, "PATIENCE_S", patience_s)
        with pytest.raises(UserError, match="a: process 7 keeps its command line from being read"):
            found(command=WORD, user=str(OTHER))
    assert threading.active_count() == before + 1
    monkeypatch.setattr(command_lines, "PATIENCE_S", 0.01)
    assert "is not known: process 7 keeps its command line" in others_commanded(keys(command=WORD))
    kept.write_text("other words")
    until(lambda: threading.active_count() == before)


def test_on_a_host_that_starts_no_more_threads_a_tenant_is_left_out(kept, monkeypatch):
    def full(thread):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", full)
    with pytest.raises(UserError, match="no thread can be started"):
        found(command=WORD, user=str(OTHER))
    assert "is not known: no thread can be started" in others_commanded(keys(command=WORD))


LEASES = """
import fcntl, os, sys
file = os.open({path!r}, os.O_RDWR)
fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_WRLCK)
print("leased", flush=True)
sys.stdin.read()
"""


def test_a_pidfile_on_which_its_owner_has_a_lease_names_nobody_for_now(tmp_path, apart):
    """To open it takes until the lease is given up (this owner ends by the signal that asks for it), or 45 s."""
    (tmp_path / "pid").write_text(str(os.getppid()))
    assert find(keys(pidfile="pid"), tmp_path) == there(os.getppid())
    with python_tenant(LEASES.format(path=str(tmp_path / "pid"))) as owner:
        assert owner.stdout.readline() == "leased\n"
        assert find(keys(pidfile="pid"), tmp_path) is None
        owner.wait()
        assert find(keys(pidfile="pid"), tmp_path) == there(os.getppid())


def test_a_pidfile_that_is_a_link_names_nobody(tmp_path, monkeypatch):
    """It may lead to a file of the kernel's that is root's and begins with a number, or to a file system whose server never answers: what it
    leads to is not even looked at."""
    (tmp_path / "pid").symlink_to(f"/proc/{os.getppid()}/stat")
    monkeypatch.delattr(os, "stat")
    monkeypatch.delattr(os, "lstat")
    with pytest.raises(BadValue, match="pid is a link"):
        find(keys(pidfile="pid"), tmp_path)


@needs_root
def test_whose_directory_it_is_names_a_process_of_their_own(tmp_path, apart):
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    os.chown(theirs, OTHER, OTHER)
    with tenant() as one:
        (theirs / "pid").write_text(f"{one.pid}\n")
        with pytest.raises(BadValue, match=f"process {one.pid} is of user root, not of {OTHER}"):
            find(keys(pidfile="theirs/pid"), tmp_path)


@needs_root
@pytest.mark.parametrize("way", ["theirs/run/pid", "theirs/up/run/pid", "theirs/down/pid", "by-root/run/pid"])
def test_whose_directory_is_on_the_way_names_a_process_of_their_own(tmp_path, apart, way):
    """They may make any part of it a link to where root has a pidfile."""
    for part in ("theirs", "run", "theirs/down"):
        (tmp_path / part).mkdir()
    for link, to in (("theirs/run", "../run"), ("theirs/up", tmp_path), ("by-root", "theirs")):
        (tmp_path / link).symlink_to(to)
    for part in ("theirs", "theirs/run", "theirs/up"):
        os.chown(tmp_path / part, OTHER, OTHER, follow_symlinks=False)
    with tenant() as one, of_another_user() as theirs:
        for part, pid in (("run", one.pid), ("theirs/down", one.pid)):
            (tmp_path / part / "pid").write_text(f"{pid}\n")
        with pytest.raises(BadValue, match=f"process {one.pid} is of user root, not of {OTHER}"):
            find(keys(pidfile=way), tmp_path)
        (tmp_path / way).write_text(f"{theirs.pid}\n")
        assert find(keys(pidfile=way), tmp_path) == there(theirs.pid)
        assert find(keys(pidfile="run/pid"), tmp_path) is not None, "nobody else is on that way"


@needs_root
def test_a_directory_that_everybody_may_write_names_nobody_unless_it_is_like_tmp(tmp_path, apart):
    (tmp_path / "any/run").mkdir(parents=True)
    with tenant() as one:
        (tmp_path / "any/run/pid").write_text(f"{one.pid}\n")
        (tmp_path / "any").chmod(0o777)
        with pytest.raises(BadValue, match="may be replaced by others"):
            find(keys(pidfile="any/run/pid"), tmp_path)
        (tmp_path / "any").chmod(0o1777)
        assert find(keys(pidfile="any/run/pid"), tmp_path) == there(one.pid)
        os.chown(tmp_path / "any", 0, OTHER)  # a group of which nobody knows who is in it
        (tmp_path / "any").chmod(0o775)
        with pytest.raises(BadValue, match="may be replaced by others"):
            find(keys(pidfile="any/run/pid"), tmp_path)


def test_links_in_a_circle_name_nobody(tmp_path, apart):
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    open_before = set(os.listdir("/proc/self/fd"))
    assert find(keys(pidfile="a/pid"), tmp_path) is None and find(keys(pidfile="none/pid"), tmp_path) is None
    assert set(os.listdir("/proc/self/fd")) == open_before


@needs_root
def test_who_wrote_a_pidfile_names_a_process_of_their_own(tmp_path, apart):
    file = tmp_path / "pid"
    with of_another_user() as theirs, tenant() as one:
        file.write_text(f"{theirs.pid}\n")
        assert find(keys(pidfile="pid"), tmp_path) == there(theirs.pid), "of root's file any"
        assert find(keys(pidfile="pid", user=str(OTHER)), tmp_path) == there(theirs.pid)
        with pytest.raises(BadValue, match=f"is of user {OTHER}, not of root"):
            find(keys(pidfile="pid", user="root"), tmp_path)
        os.chown(file, OTHER, OTHER)
        assert find(keys(pidfile="pid"), tmp_path) == there(theirs.pid)
        file.write_text(f"{one.pid}\n")
        with pytest.raises(BadValue, match=f"process {one.pid} is of user root, not of {OTHER}"):
            find(keys(pidfile="pid"), tmp_path)
        with pytest.raises(BadValue, match=f"is of user {OTHER}, not of root"):
            find(keys(pidfile="pid", user="root"), tmp_path)
        os.chown(file, 0, 0)
        file.chmod(0o666)
        with pytest.raises(BadValue, match="may be written by others"):
            find(keys(pidfile="pid"), tmp_path)
        with pytest.raises(BadValue, match='no user "nobody-at-all"'):
            find(keys(pid=one.pid, user="nobody-at-all"), tmp_path)
        with pytest.raises(BadValue, match=f"not of {256 * '9'}"):
            find(keys(pid=one.pid, user=256 * "9"), tmp_path)
        with pytest.raises(BadValue, match=f"process {one.pid} is of user root"):
            find(keys(pid=one.pid, user=str(OTHER)), tmp_path)


def test_one_process_is_not_two_tenants(apart):
    with tenant() as one, tenant() as two:
        sharing = Sharing(Machine((0, 1), 1), Remembers(), Events())
        sharing.add(keys("a", pid=one.pid))
        with pytest.raises(UserError, match=f"b: process {one.pid} is the tenant a already"):
            sharing.add(keys("b", pid=one.pid), added=True)
        assert list(sharing.tenants) == ["a"]
        with pytest.raises(BadValue, match="b: no process 4194303"):
            sharing.add(keys("b", pid=(1 << 22) - 1), added=True)
        sharing.add(keys("b", pid=two.pid))
        assert sharing.tenants["b"].pid == two.pid


@pytest.mark.parametrize(
    ("by", "fault"),
    [
        ({}, "takes one of"),
        ({"name": "12", "pid": 1}, "would be the number of a tenant"),
        ({"pid": 1, "unit": "a.service"}, "takes one of"),
        ({"unit": "a.service", "user": "root"}, "user goes with"),
        ({"command": ""}, "takes one of"),
        ({"cgroup": "/"}, "not the path of a cgroup"),
        ({"cgroup": "system.slice/a.service"}, "not the path of a cgroup"),
        ({"cgroup": "/a/../b"}, "not the path of a cgroup"),
        ({"cgroup": "/" + 256 * "x"}, "the kernel takes no cgroup"),
        ({"cgroup": 2500 * "/é"}, "the kernel takes no cgroup"),
        ({"pid": 1, "user": 5000 * "9"}, "at most 256"),
        ({"unit": "nginx"}, "not a unit"),
        ({"unit": "a/b.service"}, "not a unit"),
    ],
)
def test_a_name_that_cannot_be_is_refused(by, fault):
    with pytest.raises(ValidationError, match=fault):
        keys(**by)


def test_a_cgroups_path_may_end_with_a_slash():
    assert keys(cgroup="/system.slice/a.service/").cgroup == "/system.slice/a.service"


@pytest.fixture
def groups():
    """Makes cgroups in systemd's hierarchy (v1), or in v2; removes them at the end, with what was made above them."""
    mounted = threads.mounts()
    root = next((mounted[name] for name in ("name=systemd", "") if name in mounted), None)
    made: list[Path] = []

    def make(path: str) -> Path:
        assert root is not None
        group = root / path
        try:
            for one in reversed([group, *group.parents]):
                if not one.exists():
                    one.mkdir()
                    made.append(one)
        except OSError as error:
            pytest.skip(f"no cgroup can be made in {root}: {error.strerror}")
        return group

    if root is None or os.geteuid() != 0:
        pytest.skip("needs root and cgroups")
    yield make
    for group in reversed(made):
        until(lambda group=group: not (group / "cgroup.procs").read_text())
        group.rmdir()


@needs_rights
def test_a_process_that_is_hidden_keeps_nobody_from_being_found(tmp_path, apart, monkeypatch):
    with tenant() as one, tenant() as two:
        error = PermissionError(errno.EACCES, "hidden")
        monkeypatch.setattr(threads, "user", raises_for(one.pid, error, threads.user))
        command = (threads.PROC / str(two.pid) / "cmdline").read_bytes().replace(b"\0", b" ").decode()
        monkeypatch.setattr(threads, "pids", lambda: [one.pid, two.pid])
        assert find_tenant.find(keys("a", command=command), tmp_path).pid == two.pid


def test_whose_a_process_is_is_told_by_the_look_that_found_it(tmp_path, apart, monkeypatch):
    """It may end, and another user's get its number."""
    with tenant() as one:
        monkeypatch.setattr(threads, "user", lambda pid: None)
        other = keys("a", pid=one.pid, user=str(os.getuid() + 1))
        with pytest.raises(UserError, match="is of user"):
            find_tenant.find(other, tmp_path)


class TestGroups:
    def test_all_processes_of_a_cgroup_are_the_tenant_the_oldest_first(self, groups, apart):
        group, inner = groups(f"windtunnel-test-{os.getpid()}"), groups(f"windtunnel-test-{os.getpid()}/inner")
        with tenant() as one, tenant() as two, tenant(f"sleep 60 &\n{SLEEP}") as other:
            (inner / "cgroup.procs").write_text(str(two.pid))
            (group / "cgroup.procs").write_text(str(one.pid))
            sharing = Sharing(Machine((0, 1), 1), Remembers(), Events())
            web = sharing.add(keys("web", cgroup=f"/{group.name}"))
            assert (web.pid, web.tids) == (one.pid, tuple(sorted((one.pid, two.pid))))
            with pytest.raises(UserError, match=f"b: process {two.pid} is the tenant web already"):
                sharing.add(keys("b", pid=two.pid), added=True)
            until(lambda: threads.children()(other.pid))
            (group / "cgroup.procs").write_text(str(other.pid))
            until(
                lambda: sharing.look(web) or len(web.tids) > 2
            )  # with the child of one that came, once it is old enough
            until(lambda: sharing.look(web) or len(web.tids) > 3)
            assert len(web.tids) == 4 and {one.pid, two.pid, other.pid} < set(web.tids)
            (group.parent / "cgroup.procs").write_text(str(two.pid))  # as a shield of v2 does
            sharing.look(web)
            assert two.pid in web.tids
            two.kill()
            two.wait()
            sharing.look(web)
            assert two.pid not in web.tids
            sharing.remove("web")
            for pid in threads.children()(other.pid):
                os.kill(pid, 9)

    def test_of_too_many_cgroups_within_no_more_are_looked_at(self, groups, apart, monkeypatch):
        """Its user may make any number of them, and nobody is served meanwhile."""
        group = groups(f"windtunnel-test-{os.getpid()}")
        for inner in range(4):
            groups(f"{group.name}/{inner}")
        looks, read_text = [], Path.read_text
        monkeypatch.setattr(Path, "read_text", lambda path: looks.append(path) or read_text(path))
        with tenant() as one:
            (group / "cgroup.procs").write_text(str(one.pid))
            monkeypatch.setattr(find_tenant, "MOST_GROUPS", 4)
            assert find_tenant._pids_in("web", [group]) == {one.pid}
            monkeypatch.setattr(find_tenant, "MOST_GROUPS", 2)
            looks.clear()
            with pytest.raises(UserError, match=f"web: {group} has more than 2 cgroups within"):
                find_tenant._pids_in("web", [group])
            assert len(looks) <= 3

    def test_of_processes_that_have_just_begun_none_is_taken_in_and_none_is_followed(self, groups, apart, monkeypatch):
        """They may fork and end faster than anybody looks."""
        group = groups(f"windtunnel-test-{os.getpid()}")
        with tenant() as one, tenant() as two:
            (group / "cgroup.procs").write_text(str(one.pid))
            web = keys("web", cgroup=f"/{group.name}")
            found = find_tenant.find(web, Path())
            known = find_tenant.processes_of(found, web, {})
            assert known.keys() == {one.pid}
            (group / "cgroup.procs").write_text(str(two.pid))
            now, followed = [threads.process_started(two.pid)], []
            monkeypatch.setattr(threads, "ticks_now", lambda: now[0])
            children_of = threads.children()
            monkeypatch.setattr(threads, "children", lambda: lambda pid: followed.append(pid) or children_of(pid))
            assert find_tenant.processes_of(found, web, known) == known and two.pid not in followed
            now[0] += 1 + int(rounds.YOUNG_S * threads.TICKS)
            both = find_tenant.processes_of(found, web, known)
            assert both.keys() == {one.pid, two.pid}
            monkeypatch.setattr(find_tenant, "MOST_PROCESSES", 1)
            monkeypatch.setattr(threads, "process_started", None)  # so many are not even looked at
            with pytest.raises(UserError, match="web: it has more than 1 processes"):
                find_tenant.processes_of(found, web, both)

    def test_a_number_that_another_process_has_at_the_end_of_a_look_is_left_out(self, groups, apart, monkeypatch):
        """A look at a thousand processes takes a second, in which one may end and its number be given again."""
        group = groups(f"windtunnel-test-{os.getpid()}")
        with tenant() as one, tenant() as two:
            for process in (one, two):
                (group / "cgroup.procs").write_text(str(process.pid))
            web = keys("web", cgroup=f"/{group.name}")
            found = find_tenant.find(web, Path())
            process_stat = threads.process_stat

            def of_the_next_one(pid):
                stat = process_stat(pid)
                return dataclasses.replace(stat, started=stat.started + 1) if pid == two.pid else stat

            monkeypatch.setattr(threads, "process_stat", of_the_next_one)
            assert find_tenant.processes_of(found, web, {}).keys() == {one.pid}

    def test_who_is_another_tenant_already_stays_that(self, groups, apart):
        group = groups(f"windtunnel-test-{os.getpid()}")
        with tenant() as one, tenant() as two:
            sharing = Sharing(Machine((0, 1), 1), Remembers(), Events())
            (group / "cgroup.procs").write_text(str(one.pid))
            web = sharing.add(keys("web", cgroup=f"/{group.name}"))
            sharing.add(keys("b", pid=two.pid))
            (group / "cgroup.procs").write_text(str(two.pid))
            sharing.look(web)
            assert web.tids == (one.pid,)

    def test_a_cgroup_that_has_the_daemon_is_refused(self, groups):
        group = groups(f"windtunnel-test-{os.getpid()}")
        with tenant() as one:
            (group / "cgroup.procs").write_text(str(one.pid))
            with pytest.raises(UserError, match=f"process {one.pid} is this daemon, or was started by it"):
                found(cgroup=f"/{group.name}")

    def test_a_cgroup_that_is_not_there_or_empty_has_nobody(self, groups, apart):
        group = groups(f"windtunnel-test-{os.getpid()}")
        assert found(cgroup=f"/{group.name}") is None
        assert found(cgroup=f"/{group.name}/none") is None

    def test_a_unit_is_its_cgroup_and_two_of_a_name_are_refused(self, groups, apart):
        """A user's own manager has units of any name, and so has who was given what is within a unit: they do not count."""
        unit = f"windtunnel-test-{os.getpid()}.service"
        groups("system.slice")
        groups("system.slice/windtunnel-test.slice")
        here, second = groups(f"system.slice/{unit}"), groups(f"system.slice/windtunnel-test.slice/{unit}")
        users = groups(f"user.slice/user-1.slice/{unit}")
        groups("system.slice/windtunnel-other.service")
        delegated = groups(f"system.slice/windtunnel-other.service/{unit}")
        assert found(unit=unit) is None
        with tenant() as one, tenant() as two:
            (here / "cgroup.procs").write_text(str(one.pid))
            assert found(unit=unit) == there(one.pid, (here,))
            (users / "cgroup.procs").write_text(str(two.pid))
            assert found(unit=unit) == there(one.pid, (here,))
            (delegated / "cgroup.procs").write_text(str(two.pid))
            assert found(unit=unit) == there(one.pid, (here,))
            (second / "cgroup.procs").write_text(str(two.pid))
            with pytest.raises(UserError, match="several units") as refused:
                found(unit=unit)
            assert f"(process {one.pid})" in refused.value.message and f"(process {two.pid})" in refused.value.message


def test_threads_with_other_names_are_asked_again_some_at_a_time(monkeypatch):
    names, asked = dict.fromkeys(range(1, 8), "main"), []
    monkeypatch.setattr(threads, "threads_of", lambda pid: sorted(names))
    monkeypatch.setattr(threads, "started", lambda tid: 1)
    monkeypatch.setattr(threads, "name", lambda tid: asked.append(tid) or names[tid])
    monkeypatch.setattr(find_tenant, "MOST", 3)
    known = {}

    def look():
        asked.clear()
        return find_tenant.tids_of([1], "lcore-*", known), sorted(asked)

    assert look() == ((), [1, 2, 3, 4, 5, 6, 7])
    names[5] = names[8] = "lcore-1"
    assert look() == ((8,), [1, 2, 3, 8])
    del names[6]
    assert look() == ((5, 8), [4, 5, 7])
    names[5] = "main"  # one that shares goes on
    assert look() == ((5, 8), [1, 2, 3])
    assert look() == ((5, 8), [1, 4, 7])


def test_without_systemd_a_unit_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(threads, "mounts", lambda: {"": tmp_path})
    with pytest.raises(UserError, match="systemd does not run here"):
        found(unit="a.service")


def test_the_number_of_a_user_has_the_digits_of_ascii():
    assert find_tenant.user_of(keys(pid=1, user="3")) == 3
    with pytest.raises(BadValue, match="no user"):
        find_tenant.user_of(keys(pid=1, user="\u0663"))
