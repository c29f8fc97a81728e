"""Axio's configuration, in its colon form or in TOML, read into one shape. All faults of the file are reported, each with its line."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from windtunnel.exchange.source import Fault, Faults, Foreign
from windtunnel.parts.axio.config_keys import COLON, CONVERTED, NUMBERS, SKIPPED, SWITCHES, TABLES, TOPOLOGIES
from windtunnel.scenario import toml
from windtunnel.scenario.positions import lines_of, nearest_line
from windtunnel.scenario.refusal import Path, dotted, shown

_COLON_LINE = re.compile(r"\s*([A-Za-z]\w*)\s*:(.*)")
_TOML_LINE = re.compile(r"^[ \t]*(\[\[?[\w.]+\]|schema_version[ \t]*=)", re.MULTILINE)
_WORKLOAD = "workload : 1 : RXNIC,RXDispatcher,RxApplication,TxDispatcher,TxNIC : 0 : 0,1|2 : 0|2"
MAX_NUMBER = 10**18
MOST_TEXT = 64 << 10
"""Characters, as many as in a scenario."""
MAX_GROUP = 256
"""Axio has at most 16 workspaces; a larger range is a typing error."""


@dataclass(frozen=True)
class Entry:
    """One value of the file: its key as the file has it, and its line."""

    key: str
    value: Any
    line: int


@dataclass(frozen=True)
class AxioWorkload:
    """One workload: local groups, each some applications (workspaces) and the dispatcher that they share."""

    id: int
    phases: list[str]
    remote: list[int]
    groups: list[tuple[list[int], int]]
    line: int

    @property
    def is_even(self) -> bool:
        """Whether each dispatcher has as many applications as the others, or one more: as a scenario has it without `groups`."""
        sizes = [len(applications) for applications, _ in self.groups]
        return not sizes or max(sizes) - min(sizes) <= 1


@dataclass
class AxioConfig:
    """A configuration. `values` has the names of the TOML form as keys; `form` is "colon" or "TOML"."""

    form: str
    values: dict[str, Entry] = field(default_factory=dict)
    workloads: list[AxioWorkload] = field(default_factory=list)
    workspaces: dict[int, int] = field(default_factory=dict)
    """CPU of a workspace, counted within its NUMA node; empty in the colon form, where both are the same."""
    skipped: list[tuple[Entry, str]] = field(default_factory=list)
    """Skipped keys, with reasons."""
    faults: Faults = field(default_factory=Faults)

    def take(self, name: str, entry: Entry) -> None:
        """Puts a key into its place; `name` is that of the TOML form."""
        if name in SKIPPED:
            self.skipped.append((entry, SKIPPED[name]))
        elif name in self.values:
            self.faults.append(Fault(entry.line, f"{entry.key} is given twice", "one of them"))
        else:
            assert name in CONVERTED, name
            self.values[name] = entry
            self._check_type(name, entry)

    def _check_type(self, name: str, entry: Entry) -> None:
        what, remedy = f"{entry.key}: {shown(entry.value)}", None
        if name in NUMBERS:
            whole = type(entry.value) is int and 0 <= entry.value < MAX_NUMBER
            remedy = None if whole else "a whole number that is not negative, of at most 18 digits"
        elif name in SWITCHES:
            remedy = None if isinstance(entry.value, bool) else "true or false"
        elif not isinstance(entry.value, str):
            remedy = "a text in quotes"
        if remedy:
            self.faults.append(Fault(entry.line, what, remedy))


def read_config(foreign: Foreign) -> AxioConfig | None:
    """The configuration with its faults; None if the text has neither form. Raises UserError for one that is too long."""
    is_toml = _TOML_LINE.search(foreign.text)
    if not is_toml and not any(_key_of(line) for line in foreign.text.splitlines()):
        return None
    if len(foreign.text) > MOST_TEXT:
        raise foreign.error([Fault(0, f"more than {MOST_TEXT:,} characters", "a configuration of Axio")])
    return _from_toml(foreign.text) if is_toml else _from_colons(foreign.text)


def _key_of(line: str) -> str | None:
    match = _COLON_LINE.fullmatch(line)
    return match[1] if match and (match[1] in COLON or match[1] == "workload") else None


def _from_colons(text: str) -> AxioConfig:
    config = AxioConfig("colon")
    for number, line in enumerate(text.splitlines(), start=1):
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        match = _COLON_LINE.fullmatch(line)
        if match is None:
            config.faults.append(
                Fault(number, f'"{line[:40]}" is not a key and its value', "as in kDispRxBatchSize : 32")
            )
        elif match[1] == "workload":
            _colon_workload(config, [part.strip() for part in match[2].split(":")], number)
        elif match[1] not in COLON:
            config.faults.append(Fault(number, f'unknown key "{match[1]}"', f"one of {', '.join(COLON)}, workload"))
        else:
            name, value = COLON[match[1]], match[2].strip()
            whole = name in NUMBERS and re.fullmatch(r"[0-9]{1,18}", value, re.ASCII)
            config.take(name, Entry(match[1], int(value) if whole else _address(name, value), number))
    return config


def _address(name: str, value: str) -> str:
    """The colon form writes the points of MAC addresses for colons, because it splits lines at these."""
    return value.replace(".", ":") if name.endswith("_mac") else value


def _colon_workload(config: AxioConfig, parts: list[str], line: int) -> None:
    if len(parts) != 5:
        config.faults.append(Fault(line, f"workload has {len(parts)} parts", f"5, as in {_WORKLOAD}"))
        return
    name, phases, remote, applications, dispatchers = parts
    try:
        groups = list(zip(map(_ids, applications.split("|")), map(_ids, dispatchers.split("|")), strict=True))
        if any(len(dispatcher) != 1 for _, dispatcher in groups):
            raise ValueError("a group has one dispatcher")
        workload = AxioWorkload(
            int(name),
            [phase.strip() for phase in phases.split(",")],
            _ids(remote),
            [(apps, dispatcher[0]) for apps, dispatcher in groups],
            line,
        )
    except ValueError as error:
        config.faults.append(Fault(line, f"workload: {error}", f"as in {_WORKLOAD}"))
        return
    config.workloads.append(workload)


def _ids(text: str) -> list[int]:
    """ "0,1" or "0-3"."""
    if not re.fullmatch(r"\s*[0-9]{1,4}\s*(-\s*[0-9]{1,4}\s*|(,\s*[0-9]{1,4}\s*)*)", text, re.ASCII):
        raise ValueError(f'"{text.strip()[:40]}" is not a list of workspaces')
    if "-" not in text:
        return [int(part) for part in text.split(",")]
    first, last = (int(part) for part in text.split("-"))
    if not first <= last < first + MAX_GROUP:
        raise ValueError(f'"{text.strip()}" is not a range')
    return list(range(first, last + 1))


def _from_toml(text: str) -> AxioConfig:
    config = AxioConfig("TOML")
    try:
        data = toml.parse(text)
    except toml.Fault as fault:
        config.faults.append(Fault(fault.line, fault.what, fault.remedy))
        return config
    lines = lines_of(text)
    for path, value in _leaves(data):
        table, name = dotted(path[:-1]), str(path[-1])
        line = nearest_line(lines, path)[0]
        if table in TOPOLOGIES and name in ("workspaces", "workloads"):
            _toml_topology(config, lines, path, value)
        elif name in TABLES.get(table, "").split():
            config.take(name, Entry(dotted(path), value, line))
        else:
            keys = ", ".join(TABLES.get(table, " ".join(filter(None, TABLES))).split())
            config.faults.append(Fault(line, f'unknown key "{dotted(path)}"', f"one of {keys}"))
    version = config.values.get("schema_version")
    if version is None or version.value != 1:
        what = f"schema_version is {shown(version.value)}" if version else "schema_version is missing"
        config.faults.append(
            Fault(version.line if version else 1, what, "schema_version = 1, the only one that is known")
        )
    return config


def _leaves(data: dict[str, Any], path: Path = ()) -> Iterator[tuple[Path, Any]]:
    for name, value in data.items():
        inner_path = (*path, name)
        if isinstance(value, dict) and dotted(inner_path) in [*TABLES, "knobs"]:
            yield from _leaves(value, inner_path)
        else:
            yield inner_path, value


def _toml_topology(config: AxioConfig, lines: Mapping[Path, int], path: Path, entries: Any) -> None:
    kind = path[-1]
    read = _toml_workload if kind == "workloads" else _toml_workspace
    if not isinstance(entries, list):
        config.faults.append(
            Fault(nearest_line(lines, path)[0], f"{dotted(path)} is not a list of tables", f"[[{dotted(path)}]]")
        )
        return
    for index, entry in enumerate(entries):
        line = nearest_line(lines, (*path, index))[0]
        try:
            read(config, entry, line)
        except (KeyError, TypeError, ValueError) as error:
            what = f"{error.args[0]} is missing" if isinstance(error, KeyError) else str(error)
            shape = "id, pipeline, remote_dispatchers, groups" if kind == "workloads" else "id, cpu_core"
            config.faults.append(
                Fault(line, f"{dotted((*path, index))}: {what}", f"the keys {shape}, as Axio has them")
            )


def _toml_workspace(config: AxioConfig, entry: dict[str, Any], line: int) -> None:
    _only(entry, {"id", "cpu_core"})
    config.workspaces[_whole(entry["id"])] = _whole(entry["cpu_core"])


def _toml_workload(config: AxioConfig, entry: dict[str, Any], line: int) -> None:
    _only(entry, {"id", "pipeline", "remote_dispatchers", "groups"})
    groups = []
    for group in _list(entry["groups"]):
        _only(group, {"dispatcher", "applications"})
        groups.append(([_whole(app) for app in _list(group["applications"])], _whole(group["dispatcher"])))
    remote = [_whole(dispatcher) for dispatcher in _list(entry["remote_dispatchers"])]
    phases = [str(phase) for phase in _list(entry["pipeline"])]
    config.workloads.append(AxioWorkload(_whole(entry["id"]), phases, remote, groups, line))


def _only(table: Any, keys: set[str]) -> None:
    if not isinstance(table, dict):
        raise ValueError(f"{shown(table)} is not a table")  # noqa: TRY004 - a fault of the file
    if unknown := set(table) - keys:
        raise ValueError(f"unknown key {', '.join(sorted(unknown))}")


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise ValueError(f"{shown(value)} is not a list")  # noqa: TRY004
    return value


def _whole(value: Any) -> int:
    if type(value) is not int or not 0 <= value < 1 << 16:
        raise ValueError(f"{shown(value)} is not the number of a workspace")
    return value
