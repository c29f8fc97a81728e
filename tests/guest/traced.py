"""QEMU's trace of a guest's NICs: what was written to their registers, which descriptors they took, what they wrote back.

QEMU's events of an e1000e do not say which of two it was: registers are told apart by their address, the rest is of both together.
"""

import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

_WRITE = re.compile(
    r"memory_region_ops_write .*\baddr 0x([0-9a-f]+) value 0x[0-9a-f]+ size \d+ name '(?:e1000e-mmio|vmxnet3-b0)'"
)
_DESCRIPTOR = re.compile(r"e1000e_tx_descr .*: ([0-9a-f]+) [0-9a-f]+$")
_REPORTED = 1 << 27
"""RS in the command of a transmit descriptor: the NIC writes it back."""
REGISTERS = {"e1000e": {0x2818: "RDT", 0x3818: "TDT"}, "vmxnet3": {0x600: "TXPROD", 0x800: "RXPROD", 0xA00: "RXPROD2"}}
"""Offsets of the tail registers of queue 0."""
_SPAN = 0x20000


@dataclass
class Traced:
    """What was seen. `writes`: NIC's address and register -> writes; the others count both NICs."""

    writes: Counter = field(default_factory=Counter)
    descriptors: int = 0
    reported: int = 0
    written_back: int = 0


def read_trace(file: Path, model: str, bases: dict[str, int]) -> Traced:
    """`bases`: where the registers of each NIC lie, by its address."""
    seen = Traced()
    with file.open(errors="replace") as lines:
        for line in lines:
            if write := _WRITE.search(line):
                _count(seen, int(write[1], 16), REGISTERS[model], bases)
            elif descriptor := _DESCRIPTOR.search(line.rstrip()):
                seen.descriptors += 1
                seen.reported += bool(int(descriptor[1], 16) & _REPORTED)
            elif "e1000e_rx_written_to_guest" in line:
                seen.written_back += 1
    return seen


def _count(seen: Traced, at: int, registers: dict[int, str], bases: dict[str, int]) -> None:
    for nic, base in bases.items():
        if base <= at < base + _SPAN and (name := registers.get(at - base)):
            seen.writes[nic, name] += 1


def bases_of(log: str) -> dict[str, int]:
    """NIC's address -> where its registers lie, as the guest's first process says it."""
    said = re.findall(r"guest: (\S+) has its registers at (0x[0-9a-f]+)", log)
    return {address: int(start, 16) for address, start in said}
