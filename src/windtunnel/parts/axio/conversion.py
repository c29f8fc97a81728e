"""The state of a conversion of a configuration to a scenario."""

from collections.abc import Callable, Sequence
from typing import Any

from windtunnel.exchange.source import Fault
from windtunnel.parts.axio import roce
from windtunnel.parts.axio.config import AxioConfig, Entry
from windtunnel.parts.axio.config_keys import COMPILED
from windtunnel.parts.axio.pipelines import direction
from windtunnel.scenario.refusal import Path, shown

SIDES = ("client", "server")


class Conversion:
    """The scenario's data during the conversion, the origin of each value, the faults, and notes for the user."""

    def __init__(self, config: AxioConfig, side: str, transport: str | None, cpus: Sequence[int] | None):
        self.config, self.side, self.transport, self.cpus = config, side, transport, cpus
        self.peer = SIDES[1 - SIDES.index(side)]
        self.alone = direction(config, side, transport)
        """What the side does without a peer; None: there is one."""
        wire = roce.wire(transport) if transport else {"kind": "null" if self.alone else "ring"}
        # an empty table is not written, and on the wire "null" a side runs if the scenario names it
        sides: dict[str, Any] = {side: {"cores": "auto"}} if self.alone else {name: {} for name in SIDES}
        self.data: dict[str, Any] = {"wire": wire, **sides, "workload": []}
        self.origin: dict[Path, Entry] = {}
        self.faults = list(config.faults)
        self.notes: list[str] = []

    def put(self, path: Path, name: str, convert: Callable[[Any], Any] = lambda value: value) -> None:
        """Sets the key at `path` to the converted value of Axio's key `name`, if the file has it."""
        entry = self.config.values.get(name)
        if entry is None or any(fault.line == entry.line for fault in self.faults):
            return
        *tables, last = path
        level: Any = self.data
        for table in tables:
            level = level[int(table)] if isinstance(level, list) else level.setdefault(table, {})
        level[last] = convert(entry.value)
        self.origin[path] = entry

    def fault(self, entry: Entry, remedy: str) -> None:
        self.faults.append(Fault(entry.line, f"{entry.key}: {shown(entry.value)} cannot be converted", remedy))

    def skip(self, name: str, reason: str) -> None:
        """Names Axio's key `name` as left out, if the file has it."""
        if name in self.config.values:
            self.config.skipped.append((self.config.values[name], reason))

    def value(self, name: str) -> Any:
        """The key's value, or the one that is compiled into Axio; None if neither is known."""
        entry = self.config.values.get(name)
        return entry.value if entry else COMPILED.get(name)
