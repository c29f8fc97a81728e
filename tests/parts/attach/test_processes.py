"""DPDK applications from recorded trees of /proc."""

import os

import pytest

from windtunnel.errors import UserError
from windtunnel.parts.attach import processes
from windtunnel.parts.attach.processes import Application, application_of, applications, choose

ETHDEV = "/usr/lib/x86_64-linux-gnu/librte_ethdev.so.23.0"


@pytest.fixture
def process(tmp_path):
    """Makes a process below a directory: what is mapped, what its threads are called, what it has open."""

    def make(
        pid,
        *,
        maps=(ETHDEV,),
        command=("testpmd", "-l", "0,1"),
        threads=("testpmd", "rte-worker-1", "telemetry-v2"),
        links=(),
    ):
        root = tmp_path / str(pid)
        (root / "fd").mkdir(parents=True)
        lines = [f"7f00{n:04x}0000-7f00{n:04x}1000 r-xp 00000000 fe:00 {n} {file}" for n, file in enumerate(maps)]
        (root / "maps").write_text("".join(f"{line}\n" for line in lines))
        (root / "cmdline").write_bytes(b"".join(word.encode() + b"\0" for word in command))
        (root / "exe").write_bytes(b"ELF")
        for number, name in enumerate(threads):
            task = root / f"task/{pid + number}"
            task.mkdir(parents=True)
            (task / "comm").write_text(f"{name}\n")
        for number, target in enumerate(links):
            os.symlink(target, root / f"fd/{number}")
        return root

    return make


def test_an_application_with_dpdks_libraries_is_found(process, tmp_path):
    process(100, links=["socket:[1]", "/run/dpdk/rte/config"])
    [found] = applications(tmp_path)
    assert (found.pid, found.name, found.release, found.prefix) == (100, "testpmd", "22.11", "rte")
    assert found.lcores == {101: "rte-worker-1"}
    assert found.obstacle is None
    assert not found.has_probe


def test_a_process_without_dpdk_is_none(process, tmp_path):
    process(100, maps=["/usr/lib/libc.so.6"])
    assert list(applications(tmp_path)) == []


def test_an_executable_that_exports_its_data_path_is_one(process, tmp_path):
    root = process(100, maps=["/opt/broker"])
    assert application_of(100, tmp_path) is None
    (root / "exe").write_bytes(b"\0rte_eth_fp_ops\0")
    assert application_of(100, tmp_path).release is None


def test_an_executable_without_dpdks_threads_is_not_read(process, tmp_path):
    root = process(100, maps=["/opt/broker"], threads=["broker"])
    (root / "exe").write_bytes(b"\0rte_eth_fp_ops\0")
    assert application_of(100, tmp_path) is None


def test_a_process_that_never_lets_itself_be_read_keeps_nobody_waiting(process, tmp_path, monkeypatch):
    """As one does that holds the lock of its memory. The next ones of that user are not waited for."""
    monkeypatch.setattr(processes, "PATIENCE_S", 0.05)
    process(50)
    for pid in (100, 101):
        root = process(pid)
        (root / "cmdline").unlink()
        os.mkfifo(root / "cmdline")
    with pytest.raises(UserError, match="process 100: it keeps its memory from being read"):
        application_of(100, tmp_path)
    assert [found.pid for found in applications(tmp_path)] == [50]
    for pid in (100, 101):
        os.close(os.open(tmp_path / f"{pid}/cmdline", os.O_RDWR))  # whoever waits goes on


def test_an_executable_is_searched_in_pieces(process, tmp_path, monkeypatch):
    root = process(100, maps=["/opt/broker"])
    monkeypatch.setattr(processes, "PIECE_BYTES", 8)
    (root / "exe").write_bytes(b"ELF" * 3 + b"rte_eth_fp_ops\0")
    assert application_of(100, tmp_path) is not None


def test_an_executable_larger_than_any_is_not_read(process, tmp_path):
    """It would be taken into memory whole, and another user's may be a hole of many TiB."""
    root = process(100, maps=["/opt/broker"])
    os.truncate(root / "exe", 1 << 40)
    assert application_of(100, tmp_path) is None


@pytest.mark.parametrize("name", [b"", b"/", b"\xff\xfe", b"x" * 5000, b"\x1b]0;a\x07"])
def test_a_name_of_any_bytes_can_be_written_and_is_one_of_a_directory(process, tmp_path, name):
    root = process(100, links=["/run/dpdk/a/config"])
    (root / "cmdline").write_bytes(name + b"\0")
    found = application_of(100, tmp_path)
    (tmp_path / found.name).mkdir()
    "\0".join([*found.command, found.prefix]).encode()


def test_of_a_command_line_of_millions_of_arguments_the_beginning_is_taken(process, tmp_path):
    """Each of them would be a line of the record."""
    root = process(100)
    (root / "cmdline").write_bytes(b"testpmd\0" + b"\0" * (4 << 20))
    found = application_of(100, tmp_path)
    assert found.name == "testpmd" and len("\0".join(found.command)) < processes.MOST_COMMAND


def test_without_a_thread_that_sleeps_there_is_an_obstacle(process, tmp_path):
    process(100, threads=["testpmd", "rte-worker-1"])
    assert "no control thread" in application_of(100, tmp_path).obstacle


def test_a_process_with_the_probe_says_so(process, tmp_path):
    process(100, maps=[ETHDEV, "/opt/libwindtunnel-attach.so"])
    assert application_of(100, tmp_path).has_probe


def test_an_abi_without_an_lts_release_is_named(process, tmp_path):
    process(100, maps=["/usr/lib/librte_ethdev.so.27.1"])
    assert application_of(100, tmp_path).release == "with ABI 27"


@pytest.mark.parametrize("name", ["lcore-worker-3", "lcore-slave-3", "rte-worker-3", "dpdk-worker3", "pmd-c03/id:8"])
def test_workers_of_all_releases_are_known(process, tmp_path, name):
    process(100, threads=["app", name, "dpdk-intr"])
    assert list(application_of(100, tmp_path).lcores.values()) == [name]


def test_names_of_threads_with_any_byte_are_taken(process, tmp_path):
    process(100, threads=["a\x0cb", "c\x85d", "telemetry-v2"])
    assert application_of(100, tmp_path) is not None


def test_a_process_that_ends_meanwhile_is_left_out(tmp_path):
    (tmp_path / "100").mkdir()
    assert list(applications(tmp_path)) == []


@pytest.fixture
def here(monkeypatch):
    """Applications of this host."""
    running = [
        Application(pid=7, command=("/usr/bin/dpdk-testpmd", "-l"), release="22.11", prefix="rte", runtime=None),
        Application(pid=8, command=("/opt/l3fwd",), release=None, prefix="other", runtime=None),
        Application(pid=9, command=("/opt/l3fwd",), release=None, prefix="third", runtime=None),
    ]
    monkeypatch.setattr(processes, "applications", lambda: iter(running))
    return running


@pytest.mark.parametrize(("target", "pid"), [("rte", 7), ("dpdk-testpmd", 7), ("testpmd", 7), ("other", 8)])
def test_an_application_is_chosen_by_prefix_or_program(here, target, pid):
    assert choose(target).pid == pid


def test_a_name_of_two_is_refused_with_both(here):
    with pytest.raises(UserError, match="8, 9"):
        choose("l3fwd")


def test_a_name_of_none_is_refused(here):
    with pytest.raises(UserError, match="no DPDK application"):
        choose("vpp")


def test_a_number_of_no_process_is_refused():
    with pytest.raises(UserError, match="no such process"):
        choose(str(2**22 + 1))


def test_a_number_of_another_program_is_refused():
    with pytest.raises(UserError, match="no DPDK in it"):
        choose(str(os.getpid()))
