"""Rules from files: CSV of prefixes or of keys, ClassBench filter sets; checked, expanded, and written as the engine reads them.

CSV, a rule a line, `#` begins a comment; what stands behind the comma is the action's data, a number (without: the rule's own)
  lpm      10.0.0.0/8,7   or 10.0.0.0/255.0.0.0,7; 2001:db8::/32,7 if the key is an IPv6 address
  exact    0a000001c0a80001...,7                       the key in hexadecimal
  ternary  0a00.../ff00...,7                           key/mask; the first line has the highest priority
ClassBench (D. Taylor, J. Turner, INFOCOM 2005) and DPDK's l3fwd-acl and l3fwd: a filter a line, the first has the highest priority
  @src/len  dst/len  low : high  low : high  proto/mask  [flags/mask]
  Rsrc/len  dst/len  low : high  low : high  proto/mask  port            a route of l3fwd: the port is the data
Addresses are all of IPv4 or all of IPv6. Ranges of ports are expanded to prefixes: a filter becomes up to 900 rules. Flags are left out: nothing
here looks at them.
"""

import contextlib
import hashlib
import ipaddress
import os
import re
import socket
import stat
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from pathlib import Path

from windtunnel.engine import home
from windtunnel.errors import UserError
from windtunnel.parts.tables.plan import MAX_RULES
from windtunnel.text_file import hinted, quotable, read_text

MAX_FILE_BYTES = 1 << 28
MAX_EXPANDED = 1 << 20
"""Rules of a file of filters: 4,000 lines may expand to 3,600,000 rules, which take a minute and gigabytes."""
MOST_KEPT_BYTES = 1 << 30
IN_USE_S = 3600.0
"""What was asked for within this time may be read by an engine that starts."""
IPV6_BYTES = 16
MOST_DATA = (1 << 31) - 2
"""What every method can hold; 2^31 - 1 is a miss of rte_fib."""
FORMS = {
    "exact": "lines of KEY,DATA in hexadecimal: 0a000001c0a80001,7",
    "lpm": "lines of prefix and data: 10.0.0.0/8,7",
    "ternary": "filters of ClassBench or l3fwd-acl, or lines of KEY/MASK,DATA in hexadecimal",
}
FILTER_KEY = ["ipv4.src", "ipv4.dst", "udp.src", "udp.dst", "ipv4.proto"]
FILTER_KEY_IPV6 = ["ipv6.src", "ipv6.dst", "udp.src", "udp.dst", "ipv6.next_header"]
_FILTER = re.compile(
    r"([@R])([0-9a-f:.]+)/([0-9]+)\s+([0-9a-f:.]+)/([0-9]+)\s+"
    r"([0-9]{1,5})\s*:\s*([0-9]{1,5})\s+([0-9]{1,5})\s*:\s*([0-9]{1,5})\s+"
    r"(0x[0-9a-f]{1,2}|[0-9]{1,3})\s*/\s*(0x[0-9a-f]{1,2}|[0-9]{1,3})(?:\s+(0x[0-9a-f]{1,4}/0x[0-9a-f]{1,4}|0x[0-9a-f]{1,8}|[0-9]{1,10}))?\s*",
    re.ASCII | re.IGNORECASE,
)
_BEGINS_FILTER = re.compile(r"[@R](?=[0-9a-f:.]+/)", re.ASCII | re.IGNORECASE)


@dataclass(frozen=True)
class RuleFile:
    """What a file holds, as text for the engine."""

    text: str
    rules: int
    catches_all: bool
    """One rule matches every key, so that none can miss."""


@dataclass(frozen=True)
class _Rule:
    key: bytes
    mask: bytes
    data: int
    line: int


def key_of_filters(file: Path) -> list[str] | None:
    """The fields of a file of filters, by its first line that is no comment; None for another file. Raises UserError if it cannot be read."""
    return _key_of_filters(file, *_state(file, "ternary"))


def read_rules(file: Path, kind: str, key_bytes: int) -> RuleFile:
    """Raises UserError with file and line for what is no rule, and for rules that clash."""
    return _read(file, kind, key_bytes, *_state(file, kind))


def _state(file: Path, kind: str) -> tuple[int, int]:
    """What changes when a file does."""
    try:
        state = file.stat()
    except (OSError, ValueError) as error:
        reason = error.strerror.lower() if isinstance(error, OSError) and error.strerror else str(error)
        raise UserError(f"{file}: {reason}", remedy=FORMS[kind]) from None
    if not stat.S_ISREG(state.st_mode):  # a pipe can be read once, and this is read more often
        raise UserError(f"{file}: not a regular file", remedy=FORMS[kind])
    return state.st_mtime_ns, state.st_size


@lru_cache(maxsize=16)
def _key_of_filters(file: Path, _changed: int, _size: int) -> list[str] | None:
    first = next((line for _, line in _lines(read_text(file, MAX_FILE_BYTES, FORMS["ternary"]))), "")
    if not _BEGINS_FILTER.match(first):
        return None
    return FILTER_KEY_IPV6 if ":" in first.split()[0] else FILTER_KEY


def kept(rules: RuleFile) -> Path:
    """The rules as a file that the engine reads: written once, found again by its content."""
    file = home.cache_directory() / "rules" / f"{hashlib.sha256(rules.text.encode()).hexdigest()}.txt"
    try:
        home.make(file.parent)
        if home.is_own(file):
            os.utime(file)
        else:
            home.keep(file, rules.text.encode())  # two that write it write the same
            _forget_oldest(file.parent)
    except OSError as error:
        raise UserError(f"{file.parent}: cannot be written: {error.strerror}", remedy=home.REMEDY) from None
    return file


def _forget_oldest(directory: Path) -> None:
    """Each text that is checked leaves a file. Raises OSError."""
    states = []
    for path in directory.iterdir():
        with contextlib.suppress(FileNotFoundError):  # another process forgets, too
            states.append((path.stat(), path))
    left = MOST_KEPT_BYTES
    for state, path in sorted(states, key=lambda each: each[0].st_mtime, reverse=True):
        left -= state.st_size
        if left < 0 and time.time() - state.st_mtime > IN_USE_S:
            path.unlink(missing_ok=True)


@lru_cache(maxsize=4)
def _read(file: Path, kind: str, key_bytes: int, _changed: int, _size: int) -> RuleFile:
    text = read_text(file, MAX_FILE_BYTES, FORMS[kind])
    filtering = kind == "ternary" and key_of_filters(file) is not None
    read = {"exact": _exact, "lpm": _prefix, "ternary": _ternary}[kind]
    most = min(MAX_EXPANDED, MAX_RULES) if filtering else MAX_RULES
    there: dict[tuple[bytes, bytes], _Rule] = {}
    filters: dict[str, int] = {}
    for number, line in _lines(text):
        try:
            rules = list(_filter(line, number, key_bytes, filters) if filtering else read(line, number, key_bytes))
        except ValueError as error:
            what = hinted(str(error), text.split("\n")[number - 1]) if quotable(file) else "this line is no rule"
            raise UserError(f"{file}:{number}: {what}", remedy=FORMS[kind]) from None
        for rule in rules:
            before = there.setdefault((rule.key, rule.mask), rule)
            # Expanded ranges may meet again in a later filter, which can never win there; a line of its own may not.
            if before is not rule and not filtering:
                raise UserError(
                    f"{file}:{number}: conflicts with line {before.line}: the same rule", remedy="one of them"
                )
        if len(there) > most:
            raise UserError(f"{file}:{number}: more than {most:,} rules", remedy="fewer filters, or narrower ranges")
    if not there:
        raise UserError(f"{file}: no rules", remedy=FORMS[kind])
    return RuleFile(
        text=f"from {_on_one_line(file)}\n" + "".join(_written(rule, kind) for rule in there.values()),
        rules=len(there),
        catches_all=kind != "exact" and any(not any(rule.mask) for rule in there.values()),
    )


def _lines(text: str) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(text.removeprefix("\ufeff").split("\n"), start=1):  # lines as editors count them
        if content := line.partition("#")[0].strip():
            yield number, content


def _data(text: str | None, otherwise: int) -> int:
    if text is None or not text.strip():
        return otherwise
    if not re.fullmatch(r"[0-9]{1,10}", text.strip(), re.ASCII) or int(text) > MOST_DATA:
        raise ValueError(f"{text.strip()!r} is not a number from 0 to {MOST_DATA}")
    return int(text)


def _split(line: str, number: int) -> tuple[str, int]:
    rule, comma, data = line.partition(",")
    return rule.strip(), _data(data if comma else None, number - 1)


def _bytes(text: str, length: int, what: str) -> bytes:
    if not re.fullmatch(rf"[0-9a-fA-F]{{{2 * length}}}", text, re.ASCII):
        raise ValueError(f"{what} {text[:40]!r} is not {2 * length} hexadecimal digits")
    return bytes.fromhex(text)


def _exact(line: str, number: int, key_bytes: int) -> Iterator[_Rule]:
    text, data = _split(line, number)
    yield _Rule(_bytes(text, key_bytes, "the key"), b"\xff" * key_bytes, data, number)


def _prefix(line: str, number: int, key_bytes: int) -> Iterator[_Rule]:
    text, data = _split(line, number)
    address, slash, length = text.partition("/")
    if not slash:
        raise ValueError(f"{text!r} has no prefix length")
    if key_bytes == IPV6_BYTES:
        key, mask = _address6(address), _length6(length)
    else:
        key, mask = _address(address), _length(length)
    yield _Rule(_inside(key, mask, text), mask, data, number)


def _address(text: str) -> bytes:
    try:
        return ipaddress.IPv4Address(text).packed
    except ValueError:
        raise ValueError(f"{text!r} is not an IPv4 address") from None


def _address6(text: str) -> bytes:
    try:
        if "%" in text:  # a zone is a host's own name for a link
            raise ValueError
        return ipaddress.IPv6Address(text).packed
    except ValueError:
        raise ValueError(f"{text!r} is not an IPv6 address") from None


def _length6(text: str) -> bytes:
    if not re.fullmatch(r"[0-9]{1,3}", text, re.ASCII) or int(text) > 8 * IPV6_BYTES:
        raise ValueError(f"{text!r} is not a prefix length from 0 to {8 * IPV6_BYTES}")
    return _mask(int(text), IPV6_BYTES)


def _length(text: str) -> bytes:
    """The mask of a length in bits, or a mask in dots."""
    if "." not in text:
        if not re.fullmatch(r"[0-9]{1,2}", text, re.ASCII) or int(text) > 32:
            raise ValueError(f"{text!r} is not a prefix length from 0 to 32")
        return _mask(int(text))
    mask = int.from_bytes(_address(text), "big")
    holes = ~mask & 0xFFFFFFFF
    if holes & (holes + 1):
        raise ValueError(f"the mask {text} is not contiguous")
    return mask.to_bytes(4, "big")


def _mask(bits: int, size: int = 4) -> bytes:
    whole = (1 << 8 * size) - 1
    return (whole << (8 * size - bits) & whole).to_bytes(size, "big")


def _inside(key: bytes, mask: bytes, text: str) -> bytes:
    if any(k & ~m & 0xFF for k, m in zip(key, mask, strict=True)):
        raise ValueError(f"{text} has bits set outside its mask")
    return key


def _ternary(line: str, number: int, key_bytes: int) -> Iterator[_Rule]:
    text, data = _split(line, number)
    key, slash, mask = text.partition("/")
    if not slash:
        raise ValueError(f"{text[:40]!r} has no mask")
    masked = _bytes(mask, key_bytes, "the mask")
    yield _Rule(_inside(_bytes(key, key_bytes, "the key"), masked, text[:80]), masked, data, number)


def _filter(line: str, number: int, key_bytes: int, line_of: dict[str, int]) -> Iterator[_Rule]:
    """One filter as rules over source, destination, ports and protocol, with bytes of nothing up to the key's length."""
    match = _FILTER.fullmatch(line)
    if match is None:
        raise ValueError(f"not a filter: {line[:60]!r}")
    lead, source_ip, source_length, target_ip, target_length, *ports, protocol, protocol_mask, last = match.groups("")
    route = lead in "Rr"
    if route and (not last or "/" in last):
        raise ValueError("a route ends in the port that it leads to, as in 6/0xff 2")
    if last and not route and "/" not in last:
        raise ValueError(f"not a filter: {line[:60]!r}")
    proto, proto_mask = _byte(protocol), _byte(protocol_mask)
    same = " ".join((*match.groups("")[1:9], f"{proto} {proto_mask}", last)).lower()
    if same in line_of:
        raise ValueError(f"conflicts with line {line_of[same]}: the same filter")
    line_of[same] = number
    (source, source_mask), (target, target_mask) = _net(source_ip, source_length), _net(target_ip, target_length)
    if len(source) != len(target):
        raise ValueError("one address is of IPv4, and the other one of IPv6")
    rest = key_bytes - 2 * len(source) - 5
    if not 0 <= rest < 4:
        raise ValueError(
            f"a filter of IPv{4 if len(source) == 4 else 6} does not fit the table's key of {key_bytes} bytes"
        )
    data = int(last, 16 if last[:2] in ("0x", "0X") else 10) if route else number - 1
    if data > MOST_DATA:
        raise ValueError(f"{last} is not a number from 0 to {MOST_DATA}")
    end, end_mask = bytes([proto & proto_mask]) + bytes(rest), bytes([proto_mask]) + bytes(rest)
    for (low, low_mask), (high, high_mask) in product(_range(*ports[:2]), _range(*ports[2:])):
        key = source + target + low.to_bytes(2, "big") + high.to_bytes(2, "big") + end
        mask = source_mask + target_mask + low_mask.to_bytes(2, "big") + high_mask.to_bytes(2, "big") + end_mask
        yield _Rule(key, mask, data, number)


def _byte(text: str) -> int:
    """Reads a byte as strtoul of DPDK's l3fwd-acl does: hexadecimal with 0x, octal with 0, else decimal."""
    value = int(text, 16 if text[:2] in ("0x", "0X") else 8 if len(text) > 1 and text[0] == "0" else 10)
    if value > 0xFF:
        raise ValueError(f"{text} is not a protocol or its mask: from 0 to 255")
    return value


def _net(address: str, length: str) -> tuple[bytes, bytes]:
    """An address without the bits that its mask leaves out, and the mask."""
    whole, mask = (_address6(address), _length6(length)) if ":" in address else (_address(address), _length(length))
    return bytes(a & m for a, m in zip(whole, mask, strict=True)), mask


def _range(low: str, high: str) -> list[tuple[int, int]]:
    """Ports from `low` to `high` as prefixes, (value, mask) each."""
    first, last = int(low), int(high)
    if not 0 <= first <= last <= 0xFFFF:
        raise ValueError(f"{low} : {high} is not a range of ports")
    prefixes = []
    while first <= last:
        size = min(first & -first or 1 << 16, 1 << (last - first + 1).bit_length() - 1)
        prefixes.append((first, 0xFFFF & ~(size - 1)))
        first += size
    return prefixes


def _on_one_line(file: Path) -> str:
    name = str(file)
    return repr(name) if not name.isprintable() else name


def _written(rule: _Rule, kind: str) -> str:
    """The rule as engine/parts/tables/library/rules.h has it, with the line in the user's file."""
    if kind == "lpm":
        length = int.from_bytes(rule.mask, "big").bit_count()
        family = socket.AF_INET6 if len(rule.key) == 16 else socket.AF_INET
        # versions of ipaddress write mapped addresses in two ways, and the text is hashed
        return f"{socket.inet_ntop(family, rule.key)}/{length},{rule.data},{rule.line}\n"
    return f"{rule.key.hex()}{'/' + rule.mask.hex() if kind == 'ternary' else ''},{rule.data},{rule.line}\n"
