"""Texts that resemble the supported ones but are not read, each with the command that prints a supported one."""

import re
from collections.abc import Sequence

_BY_LINE = (
    (
        re.compile(r"Skt\s*\|"),
        "the table of pcm-pcie for people: its numbers are rounded",
        "pcm-pcie -e -csv 1, with -B for bytes",
    ),
    (
        re.compile(r".*(?:Mem Read \(MB/s\)|Mem_Ch\d|Memory Channel Monitoring|DIMM Rank Monitoring)"),
        "the table of pcm-memory for people, or one without its head of two lines",
        "pcm-memory -csv -nc 1",
    ),
    (
        re.compile(r"Socket;(?:Root Port;)?Name;Part\b|\|\s*IIO Stack\b"),
        "the table of pcm-iio for people, or one that commas do not separate",
        "pcm-iio -csv -root-port 1",
    ),
    (
        re.compile(r"Pause parameters for "),
        "the settings of pause frames without their counts",
        "ethtool -I -a INTERFACE, or ethtool -S INTERFACE",
    ),
)


def other_tool(lines: Sequence[str]) -> tuple[str, str] | None:
    """The kind of the text, and a remedy. None: it is not known."""
    return next(
        ((what, remedy) for line in lines for begin, what, remedy in _BY_LINE if begin.match(line.lstrip())), None
    )
