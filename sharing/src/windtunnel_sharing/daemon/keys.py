"""Every key of a file for `windtunnel share serve`: its type, default, range and one-line help."""

import ipaddress
import json
import os
import re
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, PlainValidator, ValidationError, WithJsonSchema, model_validator

from windtunnel.api.errors import UserError, as_argument
from windtunnel.api.files import read_text
from windtunnel.api.settings import Cores, Duration, Source, Table, Text, Wanted, parsed, refusal_of
from windtunnel_sharing import MAX_LOSS
from windtunnel_sharing.pools.weights import MOST_WEIGHT

MOST_TENANTS = 1024
MOST_NAME, MOST_PATH = 255, 3840
"""Bytes of the name of a cgroup (NAME_MAX), and of its path, before which there is that of a mount (PATH_MAX is 4,096)."""
SIGNALS = ("p99", "queue", "polls")


class BadValue(UserError):
    """A value that cannot be, whatever the state of the pools."""


def _name(text: str) -> str:
    """Digits alone are the number of a tenant, in PvCC's protocol and in the API."""
    if not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}", text, re.ASCII):
        raise ValueError(f"{json.dumps(text[:64])} is not a name")  # pydantic takes no halves of surrogate pairs
    if text.isdecimal():
        raise ValueError(f'"{text}" would be the number of a tenant')
    return text


def _network(text: str) -> str:
    try:
        return str(ipaddress.ip_network(text, strict=False))
    except ValueError:
        raise ValueError(f'"{text}" is not a network') from None


def _address(text: str) -> str:
    host, colon, port = text.rpartition(":")
    try:
        ipaddress.ip_address(host.strip("[]"))
        good = colon and port.isascii() and port.isdecimal() and 1 <= int(port) <= 65535
    except ValueError:
        good = False
    if not good:
        raise ValueError(f'"{text}" is not an address and a port')
    return text


def _is_loopback(address: str) -> bool:
    return ipaddress.ip_address(address.rpartition(":")[0].strip("[]")).is_loopback


def _slice(value: Any) -> Any:
    return value if value == "auto" else SLICE.read(value)


def _group(text: str) -> str:
    parts = text.strip("/").split("/")
    if not text.startswith("/") or not parts[0] or {"", ".", ".."} & set(parts):
        raise ValueError(f'"{text}" is not the path of a cgroup below the root')
    if max(map(len, map(os.fsencode, parts))) > MOST_NAME or len(os.fsencode(text)) > MOST_PATH:
        raise ValueError("the kernel takes no cgroup with such a long path")
    return "/" + "/".join(parts)


def _unit(text: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9:_.@\\-]{1,240}\.(service|scope|slice)", text, re.ASCII):
        raise ValueError(f'"{text}" is not a unit that has processes')
    return text


def _listen(text: str) -> str:
    return text if "/" in text else _address(text)


SLICE = Duration("10us", "1s")
Slice = Annotated[
    Literal["auto"] | int,
    PlainValidator(_slice),
    Wanted(f'"auto" or {SLICE.wanted()}'),
    WithJsonSchema({"type": "string"}),
]
Name = Annotated[
    str, AfterValidator(_name), Wanted("a name of letters, digits, _ . and -, at most 64, and not of digits alone")
]
Weight = Annotated[int, Field(ge=1, le=MOST_WEIGHT)]
Pid = Annotated[int, Field(ge=1, lt=1 << 22)]
Pattern = Annotated[Text, Field(max_length=64)]
Address = Annotated[str, AfterValidator(_address), Wanted('an address and a port, as in "127.0.0.1:7777"')]
Listen = Annotated[
    Text, AfterValidator(_listen), Wanted('a path with a "/", or an address and a port, as in "127.0.0.1:7777"')
]
Group = Annotated[str, AfterValidator(_group), Wanted('the path of a cgroup, as in "/system.slice/nginx.service"')]
Unit = Annotated[str, AfterValidator(_unit), Wanted('a service, scope or slice of systemd, as in "nginx.service"')]
Network = Annotated[str, AfterValidator(_network), Wanted('a network, as in "192.0.2.0/24"')]


class Autoscale(Table):
    """Changes the weight automatically, between `min` and `max`, by the tenant's reports through the API."""

    by: Literal["p99", "queue", "polls"] = Field(
        "p99", description="p99 against slo_p99; depth of its input queue; share of its busy polls"
    )
    queue: Annotated[int, Field(ge=1, le=1 << 31)] = Field(64, description="by queue: the limit of the depth")
    polls: Annotated[float, Field(gt=0, le=1)] = Field(0.9, description="by polls: the limit of the share")
    low: Annotated[float, Field(gt=0, lt=1)] = Field(
        0.5, description="the weight falls below this part of the limit; between both it stays"
    )
    up: Annotated[float, Field(gt=1, le=16)] = Field(2.0, description="largest factor of one step up")
    down: Annotated[float, Field(gt=0, lt=1)] = Field(0.8, description="factor of one step down")
    up_after: Annotated[int, Field(ge=1, le=1000)] = Field(
        1, description="reports above the limit, one after another, before a step up"
    )
    down_after: Annotated[int, Field(ge=1, le=1000)] = Field(
        5, description="reports below `low`, one after another, before a step down"
    )
    rest: Annotated[int, Duration("1ms", "1h")] = Field(
        "1s", validate_default=True, description="time after a step without another one"
    )

    @model_validator(mode="after")
    def _settles(self) -> "Autoscale":
        if self.low >= self.down:
            raise ValueError(f"low {self.low} must be below down {self.down}, or a step up follows each step down")
        return self


class TenantKeys(Table):
    """A process whose threads share CPUs, or all processes of a cgroup, named by one of pid, pidfile, command, cgroup and unit."""

    name: Name = Field(description="its name in the API and in metrics; PvCC's clients number tenants from 1")
    pid: Pid | None = Field(None, description="of the process")
    pidfile: Text | None = Field(None, description="a file that holds the pid, relative to this file")
    command: Text | None = Field(
        None,
        description="a text in the command line (its first 128 KiB) of exactly one process; the daemon and its own do not count",
    )
    user: Text | None = Field(
        None,
        description="with pid, pidfile or command: whose process it must be, by name or number. Without: with command the daemon's own "
        "user's, with a pidfile of another user's that user's",
        max_length=256,
    )
    cgroup: Group | None = Field(
        None, description="all processes of this cgroup and of those within; a container is one"
    )
    unit: Unit | None = Field(None, description="all processes of the cgroup of this unit of the system's systemd")
    threads: Pattern = Field(
        "*", description='pattern of the names of its threads that share, as in "lcore-worker-*" or "CPU */KVM"'
    )
    qmp: Text | None = Field(
        None, description="QMP socket of a QEMU process, relative to this file: of its threads those of vCPUs share"
    )
    pool: Literal["ls", "be"] = Field("ls", description="ls: microsecond slices, by weight; be: the rest of the CPUs")
    weight: Weight = Field(128, description="256 is one CPU")
    min: Weight = Field(1, description="least weight that a request may set")
    max: Weight | None = Field(None, description="most weight that a request may set; without: one CPU for each thread")
    cap: Weight | None = Field(None, description="most CPU that it gets while others are idle, in weight; without: all")
    slo_p99: Annotated[int, Duration("1us", "1h")] | None = Field(
        None, description="its objective for the p99 of the latency"
    )
    autoscale: Autoscale | None = Field(None, description="changes the weight automatically")
    report_token_file: Text | None = Field(
        None, description="file with a token whose holder may report of this tenant over TCP, and nothing else"
    )

    @model_validator(mode="after")
    def _fits(self) -> "TenantKeys":
        named_by = (self.pid, self.pidfile, self.command, self.cgroup, self.unit)
        if sum(given is not None for given in named_by) != 1 or "" in named_by:
            raise ValueError("takes one of pid, pidfile, command, cgroup and unit")
        if self.user is not None and (self.cgroup or self.unit):
            raise ValueError("user goes with pid, pidfile and command")
        if not self.min <= self.weight <= (self.max or MOST_WEIGHT):
            raise ValueError(f"weight {self.weight} is not between min {self.min} and max {self.max or MOST_WEIGHT}")
        if self.autoscale and self.autoscale.by == "p99" and self.slo_p99 is None:
            raise ValueError("autoscale by p99 needs slo_p99")
        return self


class Api(Table):
    """The HTTP/JSON API; /openapi.json describes it."""

    socket: Text | None = Field(
        None, description="Unix socket, for its owner only; without: share.sock in the state directory"
    )
    tcp: Address | None = Field(
        None, description="also listen on TCP, for clients with a token; beyond loopback only with TLS"
    )
    token_file: Text | None = Field(
        None,
        description="file with a token, 32 characters or more, whose holder may do everything; no other user may read it",
    )
    read_token_file: Text | None = Field(
        None,
        description="file with a token whose holder may only read: tenants, pools, readings, events, metrics, /docs; no other user may read it",
    )
    tls_certificate: Text | None = Field(None, description="tcp: PEM file of the certificate")
    tls_key: Text | None = Field(None, description="tcp: PEM file of the certificate's key, without a passphrase")
    report_socket: Text | None = Field(
        None,
        description="Unix socket for all users; it accepts reports on a tenant only from the tenant's own processes",
    )
    metrics: Address | None = Field(
        None, description="OpenMetrics without a token, on loopback; with one the API has them at /metrics"
    )

    @model_validator(mode="after")
    def _guarded(self) -> "Api":
        if self.tcp is not None and self.token_file is None:
            raise ValueError("tcp needs token_file")
        if (self.tls_certificate is None) != (self.tls_key is None):
            raise ValueError("tls_certificate and tls_key go together")
        if self.tcp is not None and self.tls_key is None and not _is_loopback(self.tcp):
            raise ValueError(f"tcp {self.tcp} is reached by other hosts: it needs tls_certificate and tls_key")
        if self.metrics is not None and not _is_loopback(self.metrics):
            raise ValueError(
                f"metrics {self.metrics} is reached by other hosts: use tcp, and /metrics with read_token_file"
            )
        return self


class Pvcc(Table):
    """PvCC's text protocol, for its clients. It has no password: a Unix socket is for its owner only, TCP is for all in `allow`."""

    listen: Listen | None = Field(
        None,
        description="Unix socket, for its owner only, or a TCP address; default: pvcc.sock in the state directory",
    )
    allow: list[Network] = Field(
        default_factory=lambda: ["127.0.0.0/8", "::1/128"],
        max_length=64,
        description="who may connect over TCP (loopback)",
    )


class Serve(Table):
    """The tenants, the CPUs that they share, and the interfaces of the daemon."""

    cpus: Cores = Field("auto", description="CPUs to share; ls takes them from the end")
    be_cpus: Annotated[int, Field(ge=0, le=4096)] = Field(
        1, description="the first CPUs of these stay with be; 0: ls may have all, and be runs when they are idle"
    )
    slicer: Text = Field(
        "auto",
        max_length=32,
        description="auto: the least p99 within max_loss, by the probes of this host (`windtunnel share probe`); without one the CPU is probed first",
    )
    slice: Slice = Field("auto", description="slice of the tenants of ls; auto: the shortest within max_loss")
    max_loss: Annotated[float, Field(gt=0, lt=1)] = Field(
        MAX_LOSS, description="auto: most time of a CPU of ls outside its tenants' slices, as a share"
    )
    shield: bool = Field(
        True, description="a cgroup keeps other processes from the tenants' time, if the host allows one"
    )
    strays: Literal["put back", "leave"] = Field(
        "put back",
        description="what happens to a thread that changes its own affinity; both publish an event and count it",
    )
    check: Annotated[int, Duration("10ms", "1min")] = Field(
        "250ms",
        validate_default=True,
        description="interval of the search for new, ended and strayed threads; for strayed ones at most 250ms",
    )
    state: Text | None = Field(
        None,
        description="directory of the state, the lock and the journal; without: share in windtunnel's runtime directory",
    )
    api: Api = Field(Api(), description="the HTTP/JSON API")
    pvcc: Pvcc | None = Field(None, description="PvCC's text protocol; without: off")
    tenant: list[TenantKeys] = Field(default_factory=list, max_length=MOST_TENANTS, description="one table a tenant")

    @model_validator(mode="after")
    def _once(self) -> "Serve":
        names: set[str] = set()
        for tenant in self.tenant:
            if tenant.name in names:
                raise ValueError(f'two tenants are called "{tenant.name}"')
            names.add(tenant.name)
        return self


MAX_FILE_BYTES = 1 << 20
EXAMPLE = 'slice = "100us" and a [[tenant]] with name = "kv" and pidfile = "kv.pid"'


def read(file: Path) -> Serve:
    """Raises UserError."""
    text = read_text(file, MAX_FILE_BYTES, f"name a file with tenants: {EXAMPLE}")
    data = parsed(file, text)
    if "workload" in data:
        raise UserError(f"{file}: a scenario, not a file for share serve", remedy=f"windtunnel run {as_argument(file)}")
    try:
        return Serve.model_validate(data)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise Source(file, text).error(refusal_of(first, Serve, "the file")) from None
