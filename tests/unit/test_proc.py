"""What somebody calls a thread, a cgroup or a mount point is never a line or a field of the kernel's."""

import ast
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import windtunnel_sharing
from windtunnel import proc
from windtunnel_sharing import threads

SOURCES = Path(proc.__file__).parent
ROOMS = (SOURCES / "engine", SOURCES / "host", Path(windtunnel_sharing.__file__).parent)
"""Those that read what the kernel says of other programs."""
NAMES = st.binary(max_size=15).map(lambda name: name.replace(b"\0", b"").replace(b"\n", b""))
"""Of threads: any bytes but these two; the kernel writes a line feed as two characters."""


def status(name: bytes) -> bytes:
    return (
        b"Name:\t" + name + b"\nUmask:\t0022\nState:\tR (running)\nTgid:\t4711\nPPid:\t1\nCapEff:\t0000000000000003\n"
    )


@given(NAMES)
@pytest.mark.parametrize("prefix", [b"", b"\fTgid:\t1", b"\rTgid:\t1", b"\x85Tgid:\t1", b"\xe2\x80\xa8Tgid:\t1"])
def test_a_name_adds_no_line_to_status(tmp_path_factory, prefix, name):
    file = tmp_path_factory.mktemp("proc") / "status"
    file.write_bytes(status(prefix + name))
    content = proc.text(file)
    assert os.fsencode(content) == status(prefix + name)
    assert proc.value(content, "Tgid") == "4711" and len(proc.lines(content)) == 6
    assert proc.value(content, "Threads") is None


@given(st.binary(min_size=1, max_size=40).map(lambda path: path.replace(b"\0", b"").replace(b"\n", b"")))
def test_a_cgroup_has_any_bytes_and_stays_one_path(tmp_path_factory, path):
    file = tmp_path_factory.mktemp("proc") / "cgroup"
    file.write_bytes(b"4:cpu,cpuacct:/" + path + b"\n0::/x\n")
    hierarchies = threads._hierarchies(proc.text(file))
    assert list(hierarchies) == ["cpu,cpuacct", ""] and os.fsencode(hierarchies["cpu,cpuacct"]) == b"/" + path


@given(st.binary(min_size=1, max_size=40).map(lambda path: path.replace(b"\0", b"")))
def test_mount_points_are_read_as_the_kernel_escapes_them(tmp_path_factory, path):
    file = tmp_path_factory.mktemp("proc") / "mounts"
    escaped = b"".join(b"\\%03o" % byte if byte in b" \t\n\\" else bytes([byte]) for byte in path)
    file.write_bytes(b"nodev /" + escaped + b" hugetlbfs rw,pagesize=2M 0 0\ncgroup2 /c cgroup2 rw 0 0\n")
    first, second = proc.mounts(file)
    assert os.fsencode(os.fspath(first.path)) == os.fsencode(os.fspath(Path(os.fsdecode(b"/" + path))))
    assert (first.kind, first.options, second.kind) == ("hugetlbfs", ("rw", "pagesize=2M"), "cgroup2")


def test_a_text_without_an_end_fills_no_memory():
    """As the command line of a process may be, that has named other memory as its arguments: no page of it need be there."""
    with pytest.raises(OSError, match="large"):
        proc.text("/dev/zero")


def test_an_empty_file_has_no_lines():
    assert proc.lines("") == [] and proc.lines("a\n\nb") == ["a", "", "b"]


def test_a_thread_that_calls_itself_a_line_has_its_own_process(monkeypatch):
    """As an unprivileged tenant would: the daemon took pid 1 for the process of such a thread."""
    own = Path("/proc/thread-self/comm")
    before = own.read_bytes()
    try:
        own.write_bytes(b"\fTgid:\t1")
        found = threads.stat(int(Path("/proc/thread-self").resolve().name))
    finally:
        own.write_bytes(before.rstrip(b"\n"))
    assert found is not None and found.pid == os.getpid()


def test_no_room_cuts_lines_elsewhere_than_the_kernel():
    """`splitlines` is for texts of our own."""
    for room in ROOMS:
        for file in room.rglob("*.py"):
            used = [node.lineno for node in ast.walk(ast.parse(file.read_text())) if _is_splitlines(node)]
            assert not used, f"{file}:{used[0]}: use windtunnel.proc.lines"


def _is_splitlines(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == "splitlines"
