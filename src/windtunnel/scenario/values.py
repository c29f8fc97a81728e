"""Types of single values: what is read, what is refused, and how a message says what would be right."""

import re
import unicodedata
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, PlainSerializer, PlainValidator, WithJsonSchema

from windtunnel.engine import plan_values
from windtunnel.engine.plan_values import MAC, STAGES, Descriptors, MessageBytes, PowerOfTwo, bounds
from windtunnel.scenario.quantities import within

LEAST_POOL, MOST_POOL = bounds(plan_values.PoolSize)
_POOL_SIZE = f'"auto" nor a whole number from {LEAST_POOL} to {MOST_POOL}'


def _text(text: str) -> str:
    if bad := next((c for c in text if unicodedata.category(c) == "Cc" and c not in "\t\n"), None):
        raise ValueError(f"holds the control character {bad!r}")
    return text


def _ip(text: str) -> str:
    try:
        address = ip_address(text)
    except ValueError:
        raise ValueError(f'"{text}" is not an IP address') from None
    if isinstance(address, IPv6Address) and (address.scope_id or address.ipv4_mapped):
        raise ValueError(f'"{text}" is no IPv6 address that a frame can hold')
    if address.is_multicast or address.is_unspecified or address == IPv4Address("255.255.255.255"):
        raise ValueError(f'"{text}" is not the address of one host')
    return str(address)


def _mac(text: str) -> str:
    if not MAC.fullmatch(text.lower()) or int(text[:2], 16) & 1:
        raise ValueError(f'"{text}" is not the MAC address of one station')
    return text.lower()


def _own_mac(text: str) -> str:
    return text if text == "nic" else _mac(text)


def _peer_mac(text: str) -> str:
    return text if text in ("auto", "resolve") else _mac(text)


def _pci_port(text: str) -> str:
    """With its domain, and without the number 0, so that two texts of one port are equal."""
    if not re.fullmatch(r"([0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7](/(0|[1-9][0-9]?))?", text.lower(), re.ASCII):
        raise ValueError(f'"{text}" is not the address of a PCI device')
    port = text.lower().removesuffix("/0")
    return port if port.count(":") == 2 else f"0000:{port}"


def _cores(value: Any) -> Any:
    if value == "auto" and isinstance(value, str):
        return value
    if not isinstance(value, (list, tuple)) or not value or any(type(cpu) is not int or cpu < 0 for cpu in value):
        raise ValueError('neither "auto" nor a list of CPU numbers')
    if len(set(value)) < len(value):
        raise ValueError("names a CPU twice")
    return tuple(value)


def _worker_cores(value: Any) -> Any:
    return value if isinstance(value, str) and value == "separate" else _cores(value)


def _pool_size(value: Any) -> Any:
    if value == "auto" or type(value) is int and LEAST_POOL <= value <= MOST_POOL:
        return value
    raise ValueError(f"neither {_POOL_SIZE}")


def _stage(text: str) -> str:
    if not re.fullmatch(rf"({'|'.join(STAGES)}):[0-9]{{1,3}}", text, re.ASCII):
        raise ValueError(f'"{text}" is not a stage and its index, as in "nic_rx:0"')
    return text


def _option(value: Any) -> Any:
    if isinstance(value, (str, int, float, bool)):
        return _text(value) if isinstance(value, str) else value
    raise ValueError("an option is one value")


@dataclass(frozen=True)
class Wanted:
    """What a key takes, in words, if its type alone does not say it."""

    text: str


Text = Annotated[str, AfterValidator(_text)]
Ip = Annotated[str, AfterValidator(_ip), Wanted("an IPv4 or IPv6 address")]
OwnMac = Annotated[str, AfterValidator(_own_mac), Wanted('a MAC address, as in "02:00:00:00:00:01", or "nic"')]
PeerMac = Annotated[str, AfterValidator(_peer_mac), Wanted('a MAC address, "resolve" or "auto"')]
PciPort = Annotated[
    str,
    AfterValidator(_pci_port),
    Wanted('a PCI address, as in "0000:02:00.0", or one of several ports at it, as in "0000:02:00.0/1"'),
]
Option = Annotated[
    str | int | float | bool, PlainValidator(_option), WithJsonSchema({"type": ["string", "number", "boolean"]})
]
Options = Annotated[dict[Text, Option], Wanted("a table of names and values; `windtunnel handlers` lists them")]
Cores = Annotated[
    Literal["auto"] | tuple[int, ...],
    PlainValidator(_cores),
    PlainSerializer(lambda cores: cores if cores == "auto" else list(cores)),
    Wanted('"auto" or a list of CPU numbers, as in [0, 1]'),
    WithJsonSchema({"anyOf": [{"const": "auto"}, {"type": "array", "items": {"type": "integer"}, "minItems": 1}]}),
]
WorkerCores = Annotated[
    Literal["auto", "separate"] | tuple[int, ...],
    PlainValidator(_worker_cores),
    PlainSerializer(lambda cores: cores if isinstance(cores, str) else list(cores)),
    Wanted('"auto", "separate" or a list of CPU numbers, as in [0, 1]'),
    WithJsonSchema(
        {"anyOf": [{"enum": ["auto", "separate"]}, {"type": "array", "items": {"type": "integer"}, "minItems": 1}]}
    ),
]
PoolSize = Annotated[
    Literal["auto"] | int,
    PlainValidator(_pool_size),
    Wanted(_POOL_SIZE.replace(" nor ", " or ")),
    WithJsonSchema({"anyOf": [{"const": "auto"}, {"type": "integer", "minimum": LEAST_POOL, "maximum": MOST_POOL}]}),
]
StageName = Annotated[str, AfterValidator(_stage), Wanted('a stage and its index, as in "nic_rx:0"')]
Message = Annotated[int, within("size", MessageBytes)]
WholeRing = Annotated[Descriptors, PowerOfTwo()]
"""Descriptors as every NIC takes them; a driver that wants others says so."""
Applications = Annotated[int, Field(ge=1, le=64)]
