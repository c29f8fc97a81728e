"""Conversion of a configuration of epping, the example of document 002 on mTCP, to a scenario: TOML text, checked by the scenario's own models.

Keys of the file and their grammar are those of mTCP's LoadConfiguration (mtcp/src/config.c): `key = value`, "#" begins a comment, the value
ends at a blank. The options of the command are those that the document runs it with. A stream stands for what writes to a send buffer. Unpacking
by the engine copies into packets, which TCP does not let a copier do here: it becomes a workload of messages, each cut at the MTU.
"""

import re
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from windtunnel.exchange.source import Fault, Faults, Foreign
from windtunnel.exchange.toml_text import text_of
from windtunnel.parts.streams.sizes import IP_TCP_HEADER_BYTES
from windtunnel.scenario.checks import check
from windtunnel.scenario.keys import Scenario
from windtunnel.scenario.load import refusal_of
from windtunnel.scenario.quantities import write
from windtunnel.scenario.refusal import Path, Refusal, shown

MOST_TEXT = 64 << 10
"""Characters, as many as in a scenario."""
HEADERS_OF_MESSAGE = 44
"""Bytes of IP, UDP and Windtunnel's own header before the payload of a packet."""
PAYLOAD = 1460
"""Bytes of a packet, if no -m says it: mTCP's."""
UNPACKED = 256 << 10
"""Bytes of a buffer that is unpacked, if no -l says it."""
AT_ONCE = 8
"""Buffers in flight while they are unpacked, as in the study copy-unpack: each is up to thousands of packets."""
NUMBERS = ("num_cores", "rcvbuf", "sndbuf")
_NO_TCP = (
    "-u: the engine copies a buffer into packets. TCP's copies cannot be given to a copier here, so these are messages over UDP; "
    "compare with the same scenario and copies.engine = cpu"
)
SKIPPED = {
    "io": "both sides run in one process, on the wire ring",
    "port": "both sides run in one process, on the wire ring; the wire pci has NICs",
    "num_mem_ch": "DPDK finds out by itself",
    "num_ip": "an application has one connection",
    "max_concurrency": "an application has one connection",
    "max_num_buffers": "an application has one connection",
    "multiprocess": "both sides run in one process",
    "tcp_timeout": "a connection lasts as long as the run",
    "tcp_timewait": "a connection is not opened twice",
    "stat_print": "the result has the counts of each port",
}
"""Keys of mTCP without a counterpart, and why."""


@dataclass(frozen=True)
class Options:
    """The options that epping runs with; None: not given."""

    length: int | None  # -l, bytes of a write
    count: int | None  # -n, writes
    by_engine: bool  # -d, copies to the send buffer by DSA
    unpack: bool  # -u, copies to packets by DSA
    payload: int | None  # -m, bytes of a packet


@dataclass(frozen=True)
class Entry:
    """A value of the file, with its line."""

    value: str
    line: int


@dataclass
class EppingConfig:
    values: dict[str, Entry] = field(default_factory=dict)
    skipped: list[tuple[str, str]] = field(default_factory=list)
    """Keys with their values, and why each is skipped."""
    faults: Faults = field(default_factory=Faults)


def read_config(foreign: Foreign) -> EppingConfig:
    """The configuration with its faults. Raises UserError for a text that is too long."""
    if len(foreign.text) > MOST_TEXT:
        raise foreign.error([Fault(0, f"more than {MOST_TEXT:,} characters", "a configuration of mTCP")])
    config = EppingConfig()
    for number, line in enumerate(foreign.text.split("\n"), 1):
        key, _, rest = line.partition("#")[0].strip().replace("=", " ", 1).partition(" ")
        if key:
            _take(config, key, Entry(rest.strip(), number))
    if not config.values and not config.skipped and not config.faults:
        config.faults.append(Fault(0, "no key", "lines as in sndbuf = 4194304"))
    return config


def _take(config: EppingConfig, key: str, entry: Entry) -> None:
    if key not in NUMBERS and key not in SKIPPED:
        config.faults.append(
            Fault(entry.line, f"mTCP has no key {shown(key)}", f"one of {', '.join((*NUMBERS, *SKIPPED))}")
        )
    elif not entry.value:
        config.faults.append(Fault(entry.line, f"{key} has no value", f"as in {key} = 1"))
    elif key in SKIPPED:
        config.skipped.append((f"{key} = {entry.value}", SKIPPED[key]))
    elif key in config.values:
        config.faults.append(Fault(entry.line, f"{key} is given twice", "one of them"))
    elif not re.fullmatch(r"[0-9]{1,10}", entry.value) or int(entry.value) == 0:
        config.faults.append(
            Fault(entry.line, f"{key}: {shown(entry.value)}", "a whole number from 1, of at most 10 digits")
        )
    else:
        config.values[key] = entry


def scenario_text(foreign: Foreign, config: EppingConfig, options: Options) -> tuple[str, list[str]]:
    """The scenario, and notes on what has no counterpart. Raises UserError with all faults."""
    data, notes = (_unpacking if options.unpack else _stream)(config, options)
    _cores(config, data)
    config.faults.extend(_faults(config, data) if not config.faults else ())
    if config.faults:
        raise foreign.error(config.faults)
    notes = [*_skipped_notes(config), *notes]
    question = (
        f"What does epping with {foreign.file.name} do on this machine: at which rate, and with which share of copies?"
    )
    return text_of(question, notes, {"title": foreign.file.stem[:200] or "epping"} | data), notes


def _stream(config: EppingConfig, options: Options) -> tuple[dict[str, Any], list[str]]:
    """A TCP stream whose writes the CPU or an engine copies into the send buffer."""
    stream: dict[str, Any] = {} if options.length is None else {"write": write("size", options.length)}
    buffers = {"sndbuf": "send_buffer", "rcvbuf": "receive_buffer"}
    stream |= {buffers[key]: write("size", int(config.values[key].value)) for key in buffers if key in config.values}
    data = _both_sides(options, IP_TCP_HEADER_BYTES)
    data["workload"] = [{"stream": stream | {"checksum": False}} | _copied(options, options.by_engine)]
    return data, [
        "TCP is smoltcp's, not mTCP's, and its other end reads and acknowledges; the guide sends to Pktgen",
        "checksum = false: mTCP has the NIC compute it, and no packet leaves this process",
        *_of_payload(options),
        *(
            []
            if options.length
            else ["-l was not given, and the guide does not name its default: write has Windtunnel's"]
        ),
        *_of_count(options, options.length),
    ]


def _unpacking(config: EppingConfig, options: Options) -> tuple[dict[str, Any], list[str]]:
    """Messages, each a buffer that an engine copies into packets; a packet waits for all copies of its burst, as in the guide."""
    buffer = options.length or UNPACKED
    config.skipped += [
        (f"{key} = {config.values[key].value}", "messages over UDP have no TCP buffers")
        for key in ("sndbuf", "rcvbuf")
        if key in config.values
    ]
    data = _both_sides(options, HEADERS_OF_MESSAGE)
    data["wire"]["udp_checksum"] = False
    data["client"] = data["client"] | {"inflight": AT_ONCE, "batch": {"app_tx": AT_ONCE}}
    copied = _copied(options, True)
    copied["copies"]["way"] = "wait_all"
    data["workload"] = [{"handler": "empty", "request": write("size", buffer)} | copied]
    return data, [
        _NO_TCP,
        *(
            ["-d: the copy to the send buffer is not in this scenario; import without -u has it"]
            if options.by_engine
            else []
        ),
        "udp_checksum = false: mTCP has the NIC compute it, and no packet leaves this process",
        f"inflight and batch.app_tx = {AT_ONCE}: the guide does not say how many buffers are unpacked at once",
        *_of_payload(options),
        *([] if options.length else [f"-l was not given: a buffer has {write('size', buffer)}"]),
        *_of_count(options, buffer),
    ]


def _both_sides(options: Options, headers: int) -> dict[str, Any]:
    mtu = {"mtu": (options.payload or PAYLOAD) + headers}
    return {"wire": {"kind": "ring"}, "client": mtu, "server": mtu, "workload": []}


def _copied(options: Options, by_engine: bool) -> dict[str, Any]:
    """The tables of the source and of the copies. The writes of one run of epping are as many bytes as the source has."""
    length = options.length or (UNPACKED if options.unpack else None)
    whole = {"bytes": write("size", length * options.count)} if length and options.count else {}
    return {"source": whole | {"order": "rotating"}, "copies": {"engine": "dma" if by_engine else "cpu"}}


def _of_payload(options: Options) -> list[str]:
    return [] if options.payload else [f"-m was not given: a packet has {PAYLOAD} bytes of payload, as mTCP's"]


def _of_count(options: Options, length: int | None) -> list[str]:
    if options.count is None:
        return ["-n was not given: the source has Windtunnel's default size"]
    if length is None:
        return [f"not converted: -n {options.count}: without -l it says no number of bytes"]
    return ["-l times -n is the size of the source; the run takes its time, and begins the source again"]


def _cores(config: EppingConfig, data: dict[str, Any]) -> None:
    """mTCP has a thread with its connections on each core."""
    entry = config.values.get("num_cores")
    if entry is not None:
        data["workload"][0] |= {"apps": int(entry.value), "dispatchers": int(entry.value)}


def _skipped_notes(config: EppingConfig) -> list[str]:
    reasons: dict[str, list[str]] = {}
    for key, reason in config.skipped:
        reasons.setdefault(reason, []).append(key)
    return [f"not converted: {', '.join(keys)}: {reason}" for reason, keys in reasons.items()]


def _faults(config: EppingConfig, data: dict[str, Any]) -> list[Fault]:
    """Those that the scenario's own loader has, each at the line or the option that it comes from."""
    try:
        check(Scenario.model_validate(data))
    except ValidationError as error:
        return [_at_its_place(config, refusal_of(fault)) for fault in error.errors(include_url=False)]
    except Refusal as refusal:
        return [_at_its_place(config, refusal)]
    return []


ORIGINS: dict[Path, str] = {
    ("workload", 0, "stream", "send_buffer"): "sndbuf",
    ("workload", 0, "stream", "receive_buffer"): "rcvbuf",
    ("workload", 0, "stream", "write"): "-l",
    ("workload", 0, "request"): "-l",
    ("workload", 0, "source", "bytes"): "-l times -n",
    ("workload", 0, "apps"): "num_cores",
    ("workload", 0, "dispatchers"): "num_cores",
    ("client", "mtu"): "-m",
    ("server", "mtu"): "-m",
}
"""The key or the option that a key of the scenario comes from."""


def _at_its_place(config: EppingConfig, refusal: Refusal) -> Fault:
    origin = ORIGINS.get(refusal.path)
    line = config.values[origin].line if origin in config.values else 0
    return Fault(line, f"{origin or 'options'}: in the scenario, {refusal.what}", refusal.remedy)
