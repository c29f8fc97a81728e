"""Frames of a capture, for an endless replay: the driver keeps an mbuf for every frame.

What the engine would refuse when it opens the capture is refused here, before there is a run (engine/wires/pcap.cc, timed_capture.cc).
"""

import os
import struct
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path as File

from windtunnel.errors import as_argument
from windtunnel.scenario.capture_formats import CONVERTED, Frame, NoCapture, Unplayable, frames_of, is_tagged, vlan_of
from windtunnel.scenario.refusal import Path, Refusal
from windtunnel.text_file import open_regular

MOST_FRAMES = 4_000_000
"""An mbuf of 2 KiB for each is 9 GB. A file with a hole in it may claim any number, and each takes microseconds to count."""
MOST_TIMED_BYTES = 1 << 30
"""Frames that are played at their own times are kept in memory."""
_DAY_NS = 86_400 * 10**9
_MOST_DAYS = 365
_NO_TIME_NS = (1 << 32) * 10**9
AT_ANY_PACE = 'pace = "speed"'
OTHER_TAGS = "they have two VLAN tags, or one of a provider (IEEE 802.1ad): tcprewrite --enet-vlan=del takes off the outer one of a capture"


@dataclass(frozen=True)
class Capture:
    frames: int
    longest: int
    """Bytes of the longest frame, without FCS."""
    longest_at: int
    """Its number, from 1, as Wireshark counts."""
    cut_short: int = 0
    """Frames of which the capture has not all bytes."""
    vlans: Mapping[int, int] = field(default_factory=dict)
    """VLAN of frames with one tag -> how many of them."""
    other_tags: int = 0
    """Frames with two tags, or with one of a provider."""

    def notes(self, vlan: int | None) -> list[str]:
        """What keeps frames from being used, for an endpoint of `vlan`."""
        notes = []
        if self.cut_short:
            notes.append(
                f"{self.cut_short:,} of {self.frames:,} frames of the capture were cut short when it was taken: a packet that is longer than its "
                "frame is dropped; tcpdump -s 0 takes whole frames"
            )
        taken = self.vlans.get(vlan, 0) if vlan else self.frames - sum(self.vlans.values()) - self.other_tags
        dropped = self.frames - taken
        if dropped:
            notes.append(f"{dropped:,} of {self.frames:,} frames of the capture will be dropped: {self._tags(vlan)}")
        return notes

    def _tags(self, vlan: int | None) -> str:
        if vlan is None:
            return vlan_words(self.vlans) if self.vlans else OTHER_TAGS
        return f"they are not of VLAN {vlan}, the server's" + (
            "" if self.vlans or self.other_tags else "; leave out server.vlan"
        )


def vlan_words(vlans: Mapping[int, int], side: str = "server") -> str:
    """What frames with these tags need, the most frequent one first."""
    ordered = sorted(vlans, key=lambda vlan: -vlans[vlan])
    if ordered == [0]:
        return "they have the tag of VLAN 0, which is no VLAN: take it off, as in tcprewrite --enet-vlan=del"
    named = f"VLAN {ordered[0]}" if len(ordered) == 1 else f"{len(ordered)} VLANs, most of them of VLAN {ordered[0]}"
    return f"they have the tag of {named}: {side}.vlan = {ordered[0]}"


def look_into(file: File, where: Path, timed: bool = False) -> Capture:
    """Counts the frames of a pcap or pcapng file, which is named at `where`. `timed`: each shall be played at its own time. Raises Refusal for
    what is none, is empty, breaks off, or cannot be played."""
    longest = longest_at = cut_short = other_tags = number = 0
    vlans: Counter[int] = Counter()
    try:
        with os.fdopen(open_regular(file), "rb") as stream:
            frames = _numbered(frames_of(stream))
            for number, frame in _in_order(frames) if timed else frames:
                cut_short += frame.length < frame.sent
                if (vlan := vlan_of(frame.head)) is not None:
                    vlans[vlan] += 1
                else:
                    other_tags += is_tagged(frame.head)
                if frame.length > longest:
                    longest, longest_at = frame.length, number
    except OSError as error:
        what = (error.strerror or str(error)).lower()
        raise Refusal(where, f"{file}: {what}", "a capture, relative to the scenario file") from None
    except struct.error:
        remedy = f"a complete capture, or `editcap {as_argument(file)} OUT`, which keeps the whole frames"
        raise Refusal(where, f"{file} is truncated in frame {number + 1}", remedy) from None
    except NoCapture:
        empty = file.is_file() and not file.stat().st_size
        what = "is empty, and is not a capture" if empty else "is not a capture"
        remedy = f"a pcap or pcapng file, as tcpdump -w FILE makes; {CONVERTED} makes one of what Wireshark reads"
        raise Refusal(where, f"{file} {what}", remedy) from None
    except Unplayable as error:
        raise Refusal(where, f"{file} {error.words}", error.remedy) from None
    if not number:
        raise Refusal(where, f"{file} contains no frame", "a capture with at least one frame")
    return Capture(number, longest, longest_at, cut_short, dict(vlans), other_tags)


def _too_many() -> Unplayable:
    return Unplayable(
        f"has more than {MOST_FRAMES:,} frames or other blocks", f"editcap -F pcap -r IN OUT 1-{MOST_FRAMES}"
    )


def _numbered(blocks: Iterator[Frame | None]) -> Iterator[tuple[int, Frame]]:
    """Frames as Wireshark counts them, from 1."""
    number = 0
    for place, frame in enumerate(blocks):
        if place >= 2 * MOST_FRAMES:
            raise _too_many()
        if frame is None:
            continue
        number += 1
        if not frame.length:
            raise Unplayable(f"has no byte of frame {number}", "a complete capture")
        if number > MOST_FRAMES:
            raise _too_many()
        yield number, frame


def _in_order(frames: Iterator[tuple[int, Frame]]) -> Iterator[tuple[int, Frame]]:
    """The same frames. Raises Unplayable if they cannot be played at their own times."""
    first = last = -1
    held = 0
    for number, frame in frames:
        time, held = frame.time_ns, held + frame.length
        if not 0 <= time < _NO_TIME_NS:
            raise Unplayable(f"has no time between 1970 and 2106 for frame {number}", AT_ANY_PACE)
        first = time if first < 0 else first
        if time < last:
            raise Unplayable(
                f"has frame {number}, {(last - time) / 1e6:,.3f} ms older than the frame before it, and is played in the order of its times",
                "reordercap IN OUT",
            )
        if time - first >= (_MOST_DAYS + 1) * _DAY_NS:
            raise Unplayable(f"spans more than {_MOST_DAYS} days at frame {number}", f"editcap, or {AT_ANY_PACE}")
        if held > MOST_TIMED_BYTES:
            raise Unplayable("has more than 1 GiB of frames, and all are kept in memory", f"editcap, or {AT_ANY_PACE}")
        last = time
        yield number, frame
    if first >= 0 and first == last:
        raise Unplayable("has the same time for all its frames, so it has no pace", AT_ANY_PACE)
