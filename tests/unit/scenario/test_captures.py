"""Captures in all their forms: what is played, what is refused before the run and with which remedy. libpcap, which the engine reads with, is
given the same files: what it refuses is refused here."""

import ctypes
import ctypes.util
import struct

import pytest
from from_the_world import FILES
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scenario_tools import finished

from windtunnel.errors import UserError
from windtunnel.scenario.capture import look_into
from windtunnel.scenario.refusal import Refusal

REPLAY = {"wire": {"kind": "pcap", "replay": "x"}, "server": {}, "workload": [{"packet_handler": "echo"}]}
US, NS, PATCHED = 0xA1B2C3D4, 0xA1B23C4D, 0xA1B2CD34
SHB, IDB, OLD, SPB, EPB = 0x0A0D0D0A, 1, 2, 3, 6


def frame(length=60, vlan=None):
    tag = b"" if vlan is None else b"\x81\x00" + struct.pack(">H", vlan)
    return (bytes(12) + tag + b"\x08\x00" + bytes(length))[:length]


def pcap(*frames, order="<", mark=US, link=1, snapshot=262_144, version=(2, 4), sent=None, times=None):
    """`sent`: the length that each frame had; `times`: (seconds, fraction) of each."""
    out = struct.pack(f"{order}IHHiIII", mark, *version, 0, 0, snapshot, link)
    for number, content in enumerate(frames):
        seconds, fraction = times[number] if times else (number, 0)
        out += struct.pack(f"{order}IIII", seconds, fraction, len(content), sent or len(content))
        out += bytes(8 if mark == PATCHED else 0) + content
    return out


def block(kind, body, order="<", length=None, trailer=None):
    size = length or 12 + len(body)
    return struct.pack(f"{order}II", kind, size) + body + struct.pack(f"{order}I", trailer or size)


def section(order="<", version=(1, 0)):
    return block(SHB, struct.pack(f"{order}IHHq", 0x1A2B3C4D, *version, -1), order)


def interface(order="<", link=1, snapshot=262_144, options=b""):
    return block(IDB, struct.pack(f"{order}HHI", link, 0, snapshot) + options, order)


def packet(content, order="<", number=0, time=0, sent=None, kind=EPB):
    head = "IIIII" if kind == EPB else "HxxIIII"
    fields = struct.pack(f"{order}{head}", number, time >> 32, time & 0xFFFFFFFF, len(content), sent or len(content))
    if kind == SPB:
        fields = struct.pack(f"{order}I", len(content))
    return block(kind, fields + content + bytes(-len(content) % 4), order)


def pcapng(*blocks, order="<"):
    return section(order) + b"".join(blocks)


RESOLUTION_NS = struct.pack("<HHB3x", 9, 1, 9) + bytes(4)
F = frame()
QINQ = bytes(12) + bytes.fromhex("810000c8810000070800") + bytes(40)
PROVIDERS = bytes(12) + bytes.fromhex("88a800c80800") + bytes(40)

PLAYED = {
    "pcap, little": (pcap(F, F), 2),
    "pcap, big": (pcap(F, F, order=">"), 2),
    "pcap, ns": (pcap(F, mark=NS), 1),
    "pcap, ns, big": (pcap(F, mark=NS, order=">"), 1),
    "pcap of Linux 2.2": (pcap(F, F, mark=PATCHED), 2),
    "pcap, snapshot 0": (pcap(F, snapshot=0), 1),
    "pcap, FCS in the link type": (pcap(F, link=0x14000001), 1),
    "pcap, cut short": (pcap(F, snapshot=60, sent=1514), 1),
    "pcap, longer than its snapshot length": (pcap(frame(200), snapshot=100), 1),
    "pcap, a short frame": (pcap(b"x"), 1),
    "pcapng, little": (pcapng(interface(), packet(F), packet(F)), 2),
    "pcapng, big": (pcapng(interface(">"), packet(F, ">"), order=">"), 1),
    "pcapng, two interfaces": (pcapng(interface(), interface(), packet(F), packet(F, number=1)), 2),
    "pcapng, snapshots 0 and 262144": (pcapng(interface(snapshot=0), interface(), packet(F, number=1)), 1),
    "pcapng, simple and old blocks": (pcapng(interface(), packet(F, kind=SPB), packet(F, kind=OLD)), 2),
    "pcapng, ns": (pcapng(interface(options=RESOLUTION_NS), packet(F)), 1),
    "pcapng, two sections": (pcapng(interface(), packet(F)) * 2, 2),
    "pcapng, other blocks": (pcapng(block(4, bytes(8)), interface(), block(5, bytes(12)), packet(F), block(0xBAD, b"")), 1),
    "pcapng 1.2": (section(version=(1, 2)) + interface() + packet(F), 1),
    "vlan.pcap": ((FILES / "vlan.pcap").read_bytes(), 8),
}  # fmt: skip
CONVERT, RECAPTURE = "editcap -F pcap IN OUT", "tcpdump -i eth0 -w FILE"
REFUSED = {
    "an empty file": (b"", "is empty, and is not a capture", "tcpdump -w FILE"),
    "a text": (b"10:00:00 IP 10.0.0.1 > 10.0.0.2: ICMP echo\n", "is not a capture", "tcpdump -w FILE"),
    "no frame": (pcap(), "contains no frame", "at least one frame"),
    "pcapng without a frame": (pcapng(interface()), "contains no frame", "at least one frame"),
    "a header that breaks off": (pcap(F)[:20], "is truncated in frame 1", "editcap"),
    "a frame that breaks off": (pcap(F, F)[:-1], "is truncated in frame 2", "editcap"),
    "pcapng that breaks off": (pcapng(interface(), packet(F), packet(F))[:-5], "is truncated in frame 2", "editcap"),
    "gzip": (b"\x1f\x8b\x08" + bytes(20), "is compressed with gzip", "gunzip -k FILE"),
    "zstd": (b"\x28\xb5\x2f\xfd" + bytes(20), "is compressed with zstd", "unzstd FILE"),
    "xz": (b"\xfd7zXZ\0" + bytes(20), "is compressed with xz", "unxz -k FILE"),
    "snoop": (b"snoop\0\0\0" + bytes(20), "is a capture of snoop", CONVERT),
    "SLL": (pcap(F, link=113), "Linux cooked (tcpdump -i any), not of Ethernet", RECAPTURE),
    "SLL2": (pcap(F, link=276), "Linux cooked v2 (tcpdump -i any), not of Ethernet", RECAPTURE),
    "raw IP": (pcap(F, link=101), "raw IP, not of Ethernet", RECAPTURE),
    "raw IPv6, big": (pcap(F, link=229, order=">"), "raw IPv6, not of Ethernet", RECAPTURE),
    "radiotap": (pcap(F, link=127), "802.11 with radiotap, not of Ethernet", "without monitor mode"),
    "loopback of BSD": (pcap(F, link=0), "BSD loopback, not of Ethernet", RECAPTURE),
    "USB": (pcapng(interface(link=220), packet(F)), "USB, not of Ethernet", RECAPTURE),
    "two link types": (pcapng(interface(), interface(link=113), packet(F)), "Linux cooked", RECAPTURE),
    "two snapshot lengths": (pcapng(interface(snapshot=96), interface(), packet(F)), "96 and 262144", CONVERT),
    "two byte orders": (pcapng(interface(), packet(F)) + section(">"), "sections of different byte orders", CONVERT),
    "no interface": (pcapng(packet(F)), "frame 1 does not fit its block or its interface", CONVERT),
    "another interface": (pcapng(interface(), packet(F, number=1)), "does not fit its block or its interface", CONVERT),
    "an interface of another section": (
        pcapng(interface(), packet(F)) + section() + packet(F),
        "frame 2 does not fit its block or its interface",
        CONVERT,
    ),
    "longer than its interface has": (pcapng(interface(snapshot=40), packet(F)), "does not fit", CONVERT),
    "two lengths of a block": (pcapng(interface(), block(EPB, bytes(80), trailer=96)), "has two lengths", CONVERT),
    "a length that is odd": (pcapng(interface(), block(5, b"abc")), "a block of 15 bytes", CONVERT),
    "pcap 2.5": (pcap(F, version=(2, 5)), "is pcap of version 2.5, not 2.4", CONVERT),
    "pcapng 2.0": (section(version=(2, 0)) + interface() + packet(F), "is pcapng of version 2.0, not 1.0", CONVERT),
    "merged packets": (pcap(F, frame(27_042)), "frame 2 has 27042 bytes, and no MTU holds it", "gro off"),
    "a frame without a byte": (pcap(F, b""), "has no byte of frame 2", "a complete capture"),
    "gro.pcap": ((FILES / "gro.pcap").read_bytes(), "frame 5 has 27042 bytes, and no MTU holds it", "gro off"),
    "sll2.pcap": ((FILES / "sll2.pcap").read_bytes(), "Linux cooked v2 (tcpdump -i any)", RECAPTURE),
    "two-snaps.pcapng": ((FILES / "two-snaps.pcapng").read_bytes(), "snapshot lengths", CONVERT),
}
FITS_NO_MBUF = {"merged packets", "gro.pcap", "a frame without a byte"}
"""What libpcap reads and the engine refuses."""
OLDER_THAN_LIBPCAPS = {"pcap 2.5"}


@pytest.mark.parametrize(("content", "frames"), PLAYED.values(), ids=PLAYED)
def test_it_is_played(tmp_path, content, frames):
    (tmp_path / "x").write_bytes(content)
    assert finished(tmp_path, REPLAY).demands["server"].mbufs["replayed frames"] == frames


@pytest.mark.parametrize(("content", "words", "remedy"), REFUSED.values(), ids=REFUSED)
def test_it_is_refused_before_the_run_with_what_helps(tmp_path, content, words, remedy):
    (tmp_path / "x").write_bytes(content)
    with pytest.raises(UserError) as refused:
        finished(tmp_path, REPLAY)
    assert words in refused.value.message and remedy in refused.value.remedy


class Header(ctypes.Structure):
    _fields_ = (("s", ctypes.c_long), ("ns", ctypes.c_long), ("length", ctypes.c_uint32), ("sent", ctypes.c_uint32))


@pytest.fixture(scope="module")
def libpcap():
    """Frames that libpcap reads, as (length, time in ns); an error of libpcap is a ValueError."""
    name = ctypes.util.find_library("pcap")
    if name is None:
        pytest.skip("no libpcap on this host")
    pcap_library = ctypes.CDLL(name)
    opened = pcap_library.pcap_open_offline_with_tstamp_precision
    opened.restype = ctypes.c_void_p
    pcap_library.pcap_geterr.restype = ctypes.c_char_p

    def read(file):
        words = ctypes.create_string_buffer(256)
        handle = opened(str(file).encode(), 1, words)
        if not handle:
            raise ValueError(words.value.decode())
        handle = ctypes.c_void_p(handle)
        try:
            if pcap_library.pcap_datalink(handle) != 1:
                raise ValueError("not of Ethernet")
            header, data, frames = ctypes.POINTER(Header)(), ctypes.POINTER(ctypes.c_ubyte)(), []
            while (got := pcap_library.pcap_next_ex(handle, ctypes.byref(header), ctypes.byref(data))) == 1:
                frames.append((header[0].length, header[0].s * 10**9 + header[0].ns))
            if got != -2:
                raise ValueError(pcap_library.pcap_geterr(handle).decode())
            return frames
        finally:
            pcap_library.pcap_close(handle)

    return read


@pytest.mark.parametrize("content", [content for content, _ in PLAYED.values()], ids=PLAYED)
def test_libpcap_plays_the_same_frames(tmp_path, libpcap, content):
    (tmp_path / "x").write_bytes(content)
    found, read = look_into(tmp_path / "x", ()), libpcap(tmp_path / "x")
    assert (found.frames, found.longest) == (len(read), max(length for length, _ in read))


@pytest.mark.parametrize("name", [name for name in REFUSED if name not in FITS_NO_MBUF])
def test_libpcap_refuses_it_too(tmp_path, libpcap, name):
    (tmp_path / "x").write_bytes(REFUSED[name][0])
    try:
        frames = libpcap(tmp_path / "x")
    except ValueError:
        return
    assert not frames or name in OLDER_THAN_LIBPCAPS


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=150)
@given(st.sampled_from([content for content, _ in PLAYED.values()][:-1]), st.integers(0, 300), st.integers(0, 255))
def test_what_libpcap_refuses_of_a_damaged_file_is_refused(tmp_path, libpcap, content, place, byte):
    """One byte is another one."""
    place %= len(content)
    (tmp_path / "x").write_bytes(content[:place] + bytes([byte]) + content[place + 1 :])
    try:
        found = look_into(tmp_path / "x", ())
    except Refusal:
        return
    read = libpcap(tmp_path / "x")
    assert (found.frames, found.longest) == (len(read), max(length for length, _ in read))


TIMED = {
    "pcap": (pcap(F, F, times=[(1, 500), (1, 700)]), [1_000_500_000, 1_000_700_000]),
    "pcap, ns": (pcap(F, F, mark=NS, times=[(1, 500), (1, 700)]), [1_000_000_500, 1_000_000_700]),
    "pcapng": (pcapng(interface(), packet(F, time=7), packet(F, time=9)), [7_000, 9_000]),
    "pcapng, ns": (
        pcapng(interface(options=RESOLUTION_NS), packet(F, time=7), packet(F, time=2**32 + 9)),
        [7, 2**32 + 9],
    ),
    "pcapng, 2^-10 s": (
        pcapng(interface(options=struct.pack("<HHB3x", 9, 1, 0x8A)), packet(F, time=1), packet(F, time=1025)),
        [976_562, 1_000_976_562],
    ),
    "pcapng, an offset": (
        pcapng(interface(options=struct.pack("<HHq", 14, 8, 100)), packet(F, time=7), packet(F, time=9)),
        [100_000_007_000, 100_000_009_000],
    ),
}


@pytest.mark.parametrize(("content", "times"), TIMED.values(), ids=TIMED)
def test_times_are_those_of_libpcap(tmp_path, libpcap, content, times):
    from windtunnel.scenario.capture_formats import frames_of

    (tmp_path / "x").write_bytes(content)
    with (tmp_path / "x").open("rb") as stream:
        assert [each.time_ns for each in frames_of(stream) if each] == times
    assert [time for _, time in libpcap(tmp_path / "x")] == times
    assert look_into(tmp_path / "x", (), timed=True).frames == 2


@pytest.mark.parametrize(
    ("content", "words", "remedy"),
    [
        (pcap(F, F, times=[(2, 0), (1, 999_999)]), "frame 2, 0.001 ms older than the frame before it", "reordercap"),
        (pcap(F, F, times=[(2, 0), (2, 0)]), "the same time for all its frames", 'pace = "speed"'),
        (pcap(F), "the same time for all its frames", 'pace = "speed"'),
        (pcap(F, F, times=[(0, 0), (366 * 86_400, 0)]), "spans more than 365 days at frame 2", "editcap"),
        (pcap(F, F, times=[(0, 0), (0, 1_000_000)]), "no time between 1970 and 2106 for frame 2", 'pace = "speed"'),
    ],
)
def test_a_capture_that_cannot_be_played_at_its_own_times(tmp_path, content, words, remedy):
    (tmp_path / "x").write_bytes(content)
    assert look_into(tmp_path / "x", ()).frames
    with pytest.raises(UserError) as refused:
        finished(tmp_path, REPLAY, "wire.pace=capture")
    assert words in refused.value.message and remedy in refused.value.remedy


@pytest.mark.parametrize(
    ("content", "sets", "words"),
    [
        (pcap(F, F), (), None),
        (pcap(F, F, sent=1514), (), "2 of 2 frames of the capture were cut short"),
        (pcap(frame(vlan=200), F), (), "1 of 2 frames of the capture will be dropped: they have the tag of VLAN 200: server.vlan = 200"),
        (pcap(frame(vlan=200), frame(vlan=200), frame(vlan=7)), (), "the tag of 2 VLANs, most of them of VLAN 200"),
        (pcap(frame(vlan=0)), (), "VLAN 0, which is no VLAN"),
        (pcap(QINQ, F), (), "1 of 2 frames of the capture will be dropped: they have two VLAN tags"),
        (pcap(QINQ), ("server.vlan=200",), "they are not of VLAN 200, the server's"),
        (pcap(PROVIDERS), (), "or one of a provider (IEEE 802.1ad)"),
        (pcap(frame(vlan=200)), ("server.vlan=200",), None),
        (pcap(frame(vlan=7)), ("server.vlan=200",), "they are not of VLAN 200, the server's"),
        (pcap(F), ("server.vlan=200",), "leave out server.vlan"),
        ((FILES / "vlan.pcap").read_bytes(), (), "8 of 8 frames of the capture will be dropped: they have the tag of VLAN 200"),
    ],
)  # fmt: skip
def test_frames_that_will_not_be_used_are_noted(tmp_path, content, sets, words):
    (tmp_path / "x").write_bytes(content)
    notes = [note for note in finished(tmp_path, REPLAY, *sets).notes if "of the capture" in note]
    assert (len(notes) == 1 and words in notes[0]) if words else notes == []
