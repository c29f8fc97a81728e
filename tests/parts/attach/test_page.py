"""The page against a memfd of this process, and its layout against attach/page.h."""

import ctypes
import fcntl
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from windtunnel.errors import UserError
from windtunnel.parts.attach import observer, page
from windtunnel.parts.attach.observer import Observer, Presence, leased
from windtunnel.parts.attach.page import Channel, Control, Head, Page, Phase, Port, Turns

HEADER = Path(__file__).parents[3] / "attach/page.h"


def sealed(size):
    """A memfd of so many bytes that stays as long as it is."""
    descriptor = os.memfd_create(page.NAME, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.ftruncate(descriptor, size)
    fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, page.SEALS)
    return descriptor


@pytest.fixture
def memfd():
    """A page as a probe leaves it, with one port and one channel."""
    descriptor = sealed(page.BYTES)
    head = Head(
        magic=page.MAGIC,
        abi=page.ABI,
        bytes=page.BYTES,
        state=page.READY,
        year=22,
        month=11,
        ports=2,
        clock_ticks=5,
        clock_ns=7,
    )
    head.port[0] = Port(attached=1, stats_at=10, ipackets=100)
    os.pwrite(descriptor, bytes(head), 0)
    write(descriptor, Channel(thread=os.getpid(), lcore=0xFFFF, calls=10, packets=20, asked=32))
    yield descriptor
    os.close(descriptor)


def write(descriptor, channel, number=0):
    os.pwrite(descriptor, bytes(channel), ctypes.sizeof(Head) + number * ctypes.sizeof(Channel))


def path_of(descriptor):
    return Path(f"/proc/self/fd/{descriptor}")


def test_a_process_is_found_to_have_a_page(memfd):
    found = page.descriptor_of(os.getpid())
    assert os.path.samefile(found, path_of(memfd))


def test_a_process_without_a_page_has_none():
    assert page.descriptor_of(os.getpid()) is None


def test_a_process_that_has_ended_has_none():
    assert page.descriptor_of(2**22 + 1) is None


def test_ports_with_a_driver_and_channels_in_use_are_read(memfd):
    with Page(path_of(memfd)) as opened:
        assert {n: p.ipackets for n, p in opened.ports().items()} == {0: 100}
        assert [c.packets for c in opened.channels()] == [20]
        assert opened.clock() == (5, 7)


def test_a_second_observer_is_refused_until_the_first_one_ends(memfd):
    with Page(path_of(memfd)), pytest.raises(UserError, match="another process observes"):
        Page(path_of(memfd))
    Page(path_of(memfd)).close()


@pytest.mark.parametrize("size", [0, page.BYTES - 1, page.BYTES + 1, 1 << 40])
def test_a_page_of_another_size_is_of_another_release(size):
    descriptor = sealed(size)
    with pytest.raises(UserError, match="another release"):
        Page(path_of(descriptor))
    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)  # nothing holds it
    os.close(descriptor)


def test_a_page_that_can_be_cut_off_is_none_of_a_probes():
    """An observer that reads behind its end would end by SIGBUS."""
    descriptor = os.memfd_create(page.NAME, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.ftruncate(descriptor, page.BYTES)
    with pytest.raises(UserError, match="not sealed"):
        Page(path_of(descriptor))
    os.close(descriptor)


@pytest.mark.parametrize("seal", [fcntl.F_SEAL_WRITE, 0x10])  # and F_SEAL_FUTURE_WRITE
def test_a_page_that_may_not_be_written_is_refused_in_words(seal):
    """The application seals it, and may seal it further."""
    descriptor = os.memfd_create(page.NAME, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.ftruncate(descriptor, page.BYTES)
    fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, page.SEALS | seal)
    with pytest.raises(UserError, match="cannot be shared"):
        Page(path_of(descriptor))
    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)  # nothing holds it
    os.close(descriptor)


@pytest.mark.parametrize("kind", ["FIFO", "file", "device"])
def test_what_is_no_memfd_is_not_opened(tmp_path, kind):
    """A process has its links of /proc say what it likes, and may put another file there once they are read."""
    place = tmp_path / "page"
    if kind == "FIFO":
        os.mkfifo(place)
    elif kind == "file":
        place.write_bytes(bytes(page.BYTES))
    else:
        place = Path("/dev/null")
    descriptor = os.open(place, os.O_PATH)
    with pytest.raises(UserError, match="not the page of a probe"):
        Page(path_of(descriptor))
    os.close(descriptor)


def test_a_page_that_is_gone_is_said():
    with pytest.raises(UserError, match="cannot be opened: No such file"):
        Page(Path("/proc/self/fd/999999"))


def test_a_clock_that_is_never_whole_keeps_nobody_waiting(memfd, monkeypatch):
    monkeypatch.setattr(page, "CLOCK_READS", 3)
    head = Head.from_buffer_copy(os.pread(memfd, ctypes.sizeof(Head), 0))
    head.clock_sequence = 1
    os.pwrite(memfd, bytes(head), 0)
    with Page(path_of(memfd)) as opened, pytest.raises(UserError, match="does not write its clock"):
        opened.clock()


@pytest.mark.parametrize("ticks", [0, 1, 2**64 - 1])
def test_a_frequency_that_no_clock_has_is_none(memfd, ticks):
    with Page(path_of(memfd)) as opened:
        windows = Observer(opened, os.getpid())
        opened.head.clock_ticks, opened.head.clock_ns = ticks, 2**62 if ticks == 1 else 200_000_000
        assert windows.tsc_hz is None


def test_a_channel_that_was_given_to_another_thread_begins_anew(memfd):
    with Page(path_of(memfd)) as opened:
        windows = Observer(opened, os.getpid())
        write(memfd, Channel(thread=os.getpid(), lcore=0xFFFF, calls=4, packets=8, asked=32))
        assert [(c.calls, c.packets) for c in windows.window().channels] == [(4, 8)]


@pytest.mark.parametrize("values", [{"calls": 11, "packets": 19}, {"calls": 11, "packets": 21, "port": 64}])
def test_what_no_application_can_have_counted_is_refused_in_words(memfd, values):
    with Page(path_of(memfd)) as opened:
        windows = Observer(opened, os.getpid())
        write(memfd, Channel(**({"thread": os.getpid(), "lcore": 0xFFFF, "asked": 32} | values)))
        with pytest.raises(UserError, match="says what cannot be"):
            windows.window()


@pytest.mark.parametrize("field", ["magic", "abi", "bytes"])
def test_a_page_of_another_release_is_refused(memfd, field):
    head = Head.from_buffer_copy(os.pread(memfd, ctypes.sizeof(Head), 0))
    setattr(head, field, getattr(head, field) + 1)
    os.pwrite(memfd, bytes(head), 0)
    with pytest.raises(UserError, match="another release"):
        Page(path_of(memfd))


def test_a_lease_is_renewed_and_given_back(memfd):
    with Page(path_of(memfd)) as opened:
        with leased(opened, Presence()):
            before = opened.control.lease_until_ns
            assert opened.control.modes == Presence().modes
            assert opened.control.observer >> 32 == os.getpid()
            while opened.control.lease_until_ns == before:
                pass
        assert opened.control.lease_until_ns == opened.control.modes == 0
        assert opened.control.sequence == 2


def test_a_lease_ends_if_what_is_within_fails(memfd):
    with Page(path_of(memfd)) as opened:
        with pytest.raises(ZeroDivisionError), leased(opened, Presence()):
            raise ZeroDivisionError
        assert opened.control.lease_until_ns == 0


def test_an_error_within_is_not_hidden_by_what_its_frames_refer_to(memfd):
    def change(opened):
        control = opened.control
        raise UserError(f"no {control.modes}")

    with pytest.raises(UserError, match="no 0"), Page(path_of(memfd)) as opened:
        change(opened)
    fcntl.flock(memfd, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_windows_are_what_was_added(memfd):
    with Page(path_of(memfd)) as opened:
        windows = Observer(opened, os.getpid())
        turns = (Turns * page.BURSTS)()
        turns[2] = Turns(turns=3, rx_ticks=30, application_ticks=60, tx_ticks=9)
        bursts = (ctypes.c_uint64 * page.BURSTS)()
        bursts[2] = 5
        write(memfd, Channel(thread=os.getpid(), lcore=1, calls=15, packets=30, asked=32, bursts=bursts, timed=turns))
        line = windows.window()
        [channel] = line.channels
        assert (channel.calls, channel.packets, channel.bursts, channel.lcore) == (5, 10, {2: 5}, 1)
        assert [(t.packets, t.turns, t.ticks) for t in channel.timed] == [(2, 3, 99)]
        assert windows.window().channels[0].calls == 0


def test_statistics_that_were_set_back_are_not_known(memfd):
    with Page(path_of(memfd)) as opened:
        windows = Observer(opened, os.getpid())
        head = Head.from_buffer_copy(os.pread(memfd, ctypes.sizeof(Head), 0))
        head.port[0].ipackets, head.port[0].stats_at = 3, 20
        os.pwrite(memfd, bytes(head), 0)
        assert windows.window().ports[0].ipackets is None


def test_an_application_that_has_ended_has_no_window(memfd):
    with Page(path_of(memfd)) as opened:
        windows = Observer(opened, os.getpid())
        windows.pid = 2**22 + 1
        with pytest.raises(ProcessLookupError):
            windows.window()


def test_a_preempted_thread_excludes_the_window():
    thread = observer.ThreadLine(thread=5, cpu=1, on_cpu_ns=0, preempted_ns=11_000_000)
    assert "thread 5" in observer._excluded([thread], 1_000_000_000)
    assert observer._excluded([thread], 1_200_000_000) is None


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_the_layout_is_that_of_the_header(tmp_path):
    """Sizes and offsets of every field, as the compiler has them."""
    structs = {"control": Control, "turns": Turns, "channel": Channel, "phase": Phase, "port": Port, "page": Head}
    fields = [(name, field[0]) for name, struct in structs.items() for field in struct._fields_]
    prints = "\n".join(f'printf("%zu\\n", offsetof(struct wt_attach_{s}, {f}));' for s, f in fields)
    source = tmp_path / "layout.c"
    source.write_text(
        f'#include <stddef.h>\n#include <stdio.h>\n#include "{HEADER}"\nint main(void) {{ {prints}\n'
        'printf("%zu\\n", sizeof(struct wt_attach_page)); return 0; }\n'
    )
    subprocess.run(["cc", "-o", tmp_path / "layout", source], check=True)
    offsets = subprocess.run([tmp_path / "layout"], check=True, capture_output=True, text=True).stdout.split()
    assert offsets == [str(getattr(structs[s], f).offset) for s, f in fields] + [str(page.BYTES)]


def test_constants_are_those_of_the_header():
    text = HEADER.read_text()
    constants = dict(re.findall(r"WT_ATTACH_(\w+) = (\d+)", text)) | dict(
        re.findall(r"#define WT_ATTACH_(\w+) (\w+)", text)
    )
    names = {
        "ABI": "1u",
        "PORTS": "64",
        "CHANNELS": "512",
        "BURSTS": "66",
        "SIZES": "16",
        "DELAYS": "400",
        "MAGIC": hex(page.MAGIC) + "ull",
    }
    modes = {
        "COUNTS": page.COUNTS,
        "TIMED": page.TIMED,
        "SIZED": page.SIZED,
        "LATENCY": page.LATENCY,
        "STATS": page.STATISTICS_READ,
    }
    assert {name: constants[name] for name in names} == names
    assert {name: int(constants[name]) for name in modes} == modes
