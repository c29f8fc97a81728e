"""Redaction of a record that is to be published: it removes names of hosts and users, their addresses, and the directories that they work in.

Equal values get equal replacements, so that relations stay visible, and addresses become addresses, so that the record stays valid:
IPv4 198.18.0.0/15 (RFC 2544), IPv6 2001:db8::/32 (RFC 3849), locally administered MACs, and PCI addresses in order of appearance. Labels are the
user's own words and stay.
"""

import getpass
import json
import platform
import re
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address
from itertools import count
from pathlib import Path, PurePosixPath
from typing import Any

from pydantic import ValidationError

from windtunnel.engine.own_directory import for_temporary
from windtunnel.errors import UserError
from windtunnel.runs import Record
from windtunnel.runs.reader import MOST_WINDOWS_BYTES
from windtunnel.text_file import MOST_RECORD_BYTES, lines_of

HOME = "/home/user"
LEAST_NAME = 3
"""Fewest characters of a name that is replaced in a text: shorter ones are parts of other words."""
FIELDS = {"hostname", "testbed"}
"""Fields of a record that are the name of a host, however short."""
NOBODY = {"root", "user", "localhost"}
"""Names that identify nobody."""
MOST_NAMES = 64
"""Each word is compared with each name, and a record from someone else may name as many users as it has words."""
_HEX = "0-9A-Fa-f"
_ADDRESS = re.compile(
    rf"(?P<mac>(?<![{_HEX}:])[{_HEX}]{{2}}(?:[:-][{_HEX}]{{2}}){{5,}}(?![{_HEX}]))"  # an InfiniBand interface has 20 bytes
    rf"|(?P<dotted>(?<![{_HEX}.])[{_HEX}]{{2}}(?:\.[{_HEX}]{{2}}){{5}}(?![{_HEX}]|\.[{_HEX}]))"  # a MAC with points
    rf"|(?P<quads>(?<![{_HEX}.])[{_HEX}]{{4}}(?:\.[{_HEX}]{{4}}){{2}}(?![{_HEX}]|\.[{_HEX}]))"  # as switches do
    # udev's names of interfaces and RDMA devices, by MAC and by slot
    r"|(?:(?<=enx|ibx|slx|wlx|wwx)|(?<=rocex))(?P<interface>[0-9a-f]{12})(?![0-9a-f])"
    r"|(?P<slot>(?<=en|ib|sl|wl|ww|ce)(?:P\d{1,5})?p\d{1,3}s\d{1,2}(?:f\d)?(?!\d))"
    rf"|(?P<pci>(?<![{_HEX}:.])(?:[{_HEX}]{{4,8}}:)?[{_HEX}]{{2}}:[01][{_HEX}]\.[0-7](?!\d))"
    rf"|(?P<guid>(?<![{_HEX}:])[{_HEX}]{{4}}(?::[{_HEX}]{{4}}){{3}}(?![{_HEX}:]))"  # of an RDMA port, which has its MAC in it
    rf"|(?P<six>(?:(?<![A-Za-z0-9:])|(?<=[^{_HEX}:]:)(?!:))(?=[{_HEX}]*:[{_HEX}]*:)[{_HEX}:]++(?:(?:\.\d{{1,3}}){{3}})?(?![\w:]|\.\d))"
    r"|(?P<four>(?<!\d)(?<!\d\.)\d{1,3}(?:\.\d{1,3}){3}(?!\d|\.\d))"
)
_SLOT = re.compile(r"(?:P(\d+))?p(\d+)s(\d+)(?:f(\d))?")
_HOMES = r"/(?:home|Users)/([^\s/\"'\\]+)"
_NO_TEXT = re.compile(r"(?:[\s\d.,:{}\[\]+-]|[eE]|true|false|null|NaN|Infinity)*+")
"""What JSON has between its texts."""
_JSON_TEXT = re.compile(r'"(?:[^"\\]|\\.)*+(?:"|\\?$)', re.DOTALL)
"""Its quantifiers are possessive, as those of _ADDRESS: untrusted text is scanned once."""


class Redaction:
    """Replacements for one record's secrets. `names`: names of hosts and users with their replacements. `homes`: directories of users."""

    def __init__(self, names: dict[str, str], homes: Iterable[str]):
        self._numbers = {kind: count(1) for kind in ("mac", "pci", "six", "four")}
        self._stand_ins: dict[tuple[str, Any], str] = {}
        self._names = {name.casefold(): stand_in for name, stand_in in names.items()}
        long_names = [name for name in names if len(name) >= LEAST_NAME]
        self._name = _alternatives(long_names, r"(?<![A-Za-z0-9])(?:{})(?![A-Za-z0-9])", re.IGNORECASE)
        # a directory may have a space or a comma in its name: what follows is still the path if a slash comes that begins no other one
        below = r"(?:/[^\s\"'<>|:;,)\]]*+(?:[^/\n\"'<>|]*+(?<!\s)/[^\s\"'<>|:;,)\]]*+)*)?"
        home = rf"(?:(?:{{}})(?![\w-])|{_HOMES})"
        self._home, self._path = (_alternatives({*homes, "/root"}, home + rest) for rest in ("/*", below))
        self.text: Callable[[str], str] = lru_cache(1 << 12)(self._text)

    def _text(self, text: str) -> str:
        """The text without secrets."""
        if "\n" not in text and self._path.match(text):
            text = self._in_home(text)  # a path, whatever it has in it
        else:
            text = self._path.sub(lambda match: self._in_home(match[0]), text)
        text = _ADDRESS.sub(self._address, text)
        return self._name.sub(lambda match: self._names.get(match[0].casefold(), "host"), text)

    def document(self, value: Any) -> Any:
        """A JSON value without secrets, keys included."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {self.text(key): self._field(key, item) for key, item in value.items()}
        return [self.document(item) for item in value] if isinstance(value, list) else value

    def _field(self, key: str, value: Any) -> Any:
        stand_in = self._names.get(value.casefold()) if key in FIELDS and isinstance(value, str) else None
        return stand_in or self.document(value)

    def record(self, record: Record) -> Record:
        """The record without secrets. Raises UserError if a name is also a word of the record's format, so that the result would be invalid."""
        document = self.document(record.model_dump(mode="json", exclude={"labels"})) | {"labels": record.labels}
        try:
            return Record.model_validate_json(json.dumps(document))
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            where = ".".join(map(str, first["loc"]))
            names = ", ".join(self._names)
            raise UserError(
                f"the record cannot be redacted: {where} has a word that is also the name of a host or a user ({names})",
                remedy="export it without --redact, and take out by hand what is not for others",
            ) from None

    def file(self, path: Path) -> bool:
        """Rewrites a file line by line. False: it is not text, and may hold anything. Raises OSError, and UserError if the file or a line is
        too long."""
        of_line = self._json if path.suffix in (".json", ".jsonl") else self.text
        with tempfile.TemporaryFile(dir=for_temporary()) as redacted:
            for line in lines_of(path, MOST_WINDOWS_BYTES, MOST_RECORD_BYTES):
                try:
                    text = line.decode()
                except UnicodeDecodeError:
                    return False
                if "\0" in text:
                    return False
                end = "\n" if text.endswith("\n") else ""
                redacted.write((of_line(text.removesuffix("\n")) + end).encode())
            redacted.seek(0)
            with path.open("wb") as rewritten:
                shutil.copyfileobj(redacted, rewritten)
        return True

    def _json(self, line: str) -> str:
        """A redacted line of JSON, whose numbers stay as they are written; what is no JSON is a text."""
        parts, end = [], 0
        for match in _JSON_TEXT.finditer(line):
            parts += [self._between(line[end : match.start()]), self._json_text(match)]
            end = match.end()
        return "".join([*parts, self._between(line[end:])])

    def _between(self, text: str) -> str:
        return text if _NO_TEXT.fullmatch(text) else self.text(text)

    def _json_text(self, match: re.Match[str]) -> str:
        try:
            return json.dumps(self.text(json.loads(match[0])))
        except ValueError:  # truncated, as a killed program leaves it
            return self.text(match[0])

    def _in_home(self, path: str) -> str:
        """The path with HOME in place of its directories, which may tell as much as the user's name."""
        return HOME if self._home.fullmatch(path) else f"{HOME}/{PurePosixPath(path).name}"

    def _address(self, match: re.Match[str]) -> str:
        kind = str(match.lastgroup)
        original = match[0]
        if kind in ("mac", "dotted", "quads", "guid", "interface"):
            digits = re.sub("[:.-]", "", original).lower()
            if set(digits) in ({"0"}, {"f"}):
                return original
            stand_in = self._stand_in("mac", digits, lambda n: f"02{n:0{len(digits) - 2}x}")
            step, between = {"quads": (4, "."), "guid": (4, ":"), "interface": (12, "")}.get(kind, (2, original[2]))
            return between.join(stand_in[at : at + step] for at in range(0, len(stand_in), step))
        if kind == "slot":
            domain, bus, device, function = (int(number or 0) for number in _SLOT.findall(original)[0])
            stand_in = self._pci(f"{domain:04x}:{bus:02x}:{device:02x}.{function}")
            _, bus_, device_ = stand_in.partition(".")[0].split(":")
            return f"p{int(bus_, 16)}s{int(device_, 16)}"
        if kind == "pci":
            digits = original.lower()
            whole = digits if digits.count(":") == 2 else f"0000:{digits}"
            stand_in = self._pci(whole)
            return stand_in if digits == whole else stand_in.removeprefix("0000:")
        try:
            address = ip_address(".".join(map(str, map(int, original.split(".")))) if kind == "four" else original)
        except ValueError:
            return original
        mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
        if mapped:
            return f"::ffff:{self._ip(mapped)}"
        return self._ip(address)

    def _pci(self, whole: str) -> str:
        return self._stand_in("pci", whole, lambda n: f"0000:{n >> 5 & 0xFF:02x}:{n & 31:02x}.0")

    def _ip(self, address: IPv4Address | IPv6Address) -> str:
        if address.is_loopback or address.is_unspecified or address.is_multicast or str(address) == "255.255.255.255":
            return str(address)
        if address.version == 4:
            return self._stand_in("four", address, lambda n: str(IPv4Address("198.18.0.0") + n))
        return self._stand_in("six", address, lambda n: str(IPv6Address("2001:db8::") + n))

    def _stand_in(self, kind: str, value: Any, make: Callable[[int], str]) -> str:
        if (kind, value) not in self._stand_ins:
            self._stand_ins[kind, value] = make(next(self._numbers[kind]))
        return self._stand_ins[kind, value]


def redaction_of(record: Record) -> Redaction:
    """The redaction for the names in a record and in the files beside it: its hosts, its users, and the user who publishes it. Raises UserError
    if they are too many."""
    texts = list(_texts(record.model_dump(mode="json")))
    users = {name for text in texts for name in re.findall(_HOMES, text)}
    users.add(_user())
    hosts = [facts.get("hostname") for facts in record.hosts] + [record.testbed, platform.node()]
    names: dict[str, str] = {}
    for n, host in enumerate(dict.fromkeys(str(host) for host in hosts if host), 1):
        names |= {host.partition(".")[0]: f"host-{n}", host: f"host-{n}"}
    names |= dict.fromkeys(users, "user")
    names = {name: stand_in for name, stand_in in names.items() if name and name.lower() not in NOBODY}
    if len(names) > MOST_NAMES:
        raise UserError(
            f"the record cannot be redacted: it names {len(names)} hosts and users, and at most {MOST_NAMES} are replaced",
            remedy="export it without --redact, and take out by hand what is not for others",
        )
    home = str(Path.home())
    return Redaction(names, [home] if home != "/" else [])


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a user number without a name
        return ""


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _texts(item)


def _alternatives(names: Iterable[str], pattern: str, flags: int = 0) -> re.Pattern[str]:
    """The pattern with any of the names, the longest first; without names it matches nothing."""
    alternatives = "|".join(map(re.escape, sorted(names, key=len, reverse=True)))
    return re.compile(pattern.replace("{}", alternatives or r"(?!)"), flags)
