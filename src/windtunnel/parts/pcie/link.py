"""A PCIe link: the cost of a transfer on the wire, and the part of the wire that transfers can use.

Sizes are bytes, rates bytes per second if the name does not say otherwise. Sources: PCI Express Base Specification 5.0, sections 2.2
(headers), 2.6.1.2 (flow control updates), 3.6.2 (acknowledgements), 4.2.7 (SKP); the model of pcie-bench (Neugebauer et al., SIGCOMM 2018).
"""

from dataclasses import dataclass
from math import ceil, floor
from typing import Literal, NamedTuple

from windtunnel.errors import UserError

GIGATRANSFERS = {1: 2.5, 2: 5.0, 3: 8.0, 4: 16.0, 5: 32.0}
"""Generation -> 10^9 transfers a second and lane."""
LANES = (1, 2, 4, 8, 16)
PAYLOADS = (128, 256, 512, 1024, 2048, 4096)
BOUNDARIES = (64, 128)

WRITE_HEADER = READ_HEADER = 24
"""Framing and sequence number 4, CRC of the link 4, header with an address of 64 bits 16; no ECRC."""
COMPLETION_HEADER = 20
"""Framing, sequence number and CRC of the link as above, and a header of 12."""

_DLLP = 8
"""An acknowledgement or a flow control update on the wire."""
_SKIP = 4 / 1538
"""Share of the ordered sets for the clocks."""
_TLP_OVERHEAD = 28
"""Bytes that the specification's formula adds to a payload."""
_INTERNAL_DELAY = {1: 19, 2: 70, 3: 115, 4: 115, 5: 115}
"""Symbol times until a receiver must respond, by generation."""
_ACK_FACTOR = {1: (1.4, 1.4), 2: (1.4, 1.4), 4: (1.4, 1.4), 8: (2.5, 2.5), 16: (3.0, 3.0)}
"""Lanes -> factor at a payload of 128 and of 256 bytes; above that it is 1, of 16 lanes 2."""


class OnWire(NamedTuple):
    """Bytes on the wire, headers included."""

    up: float
    down: float


@dataclass(frozen=True)
class Link:
    """A link as it was negotiated. Raises UserError for values that no link has."""

    generation: int = 3
    lanes: int = 8
    mps: int = 256
    """Maximum payload size: most bytes that one transfer carries."""
    mrrs: int = 512
    """Maximum read request size: most bytes of one read request."""
    rcb: int = 64
    """Read completion boundary, at which a root complex may cut a completion."""
    completions: Literal["mps", "rcb"] = "mps"
    """Whether the root complex fills its read completions, or cuts them at every boundary."""

    def __post_init__(self) -> None:
        _among("the generation of the link", self.generation, tuple(GIGATRANSFERS))
        _among("the number of lanes", self.lanes, LANES)
        _among("the maximum payload size", self.mps, PAYLOADS)
        _among("the maximum read request size", self.mrrs, PAYLOADS)
        _among("the read completion boundary", self.rcb, BOUNDARIES)
        _among("where completions are cut", self.completions, ("mps", "rcb"))

    def write(self, size: float) -> OnWire:
        """The device writes `size` bytes to memory."""
        return OnWire(up=ceil(size / self.mps) * WRITE_HEADER + size, down=0)

    def read(self, size: float) -> OnWire:
        """The device reads `size` bytes of memory: requests up, completions down. A completion is of one request."""
        most_bytes = self.mps if self.completions == "mps" else min(self.mps, self.rcb)
        whole, rest = divmod(size, self.mrrs)
        completions = whole * ceil(self.mrrs / most_bytes) + ceil(rest / most_bytes)
        return OnWire(up=ceil(size / self.mrrs) * READ_HEADER, down=completions * COMPLETION_HEADER + size)

    def register(self, size: float) -> OnWire:
        """The CPU writes a register of the device."""
        return OnWire(up=0, down=WRITE_HEADER + size if size else 0)

    @property
    def raw(self) -> float:
        """Bytes a second in each direction, after the encoding of symbols."""
        encoding = 8 / 10 if self.generation <= 2 else 128 / 130
        return GIGATRANSFERS[self.generation] * 1e9 * self.lanes * encoding / 8

    @property
    def usable(self) -> float:
        """Bytes a second that are left for transfers: without acknowledgements and flow control updates at the rates that the
        specification recommends, and without SKP."""
        return self.raw * (1 - 2 * _DLLP / self.update_limit - _SKIP)

    @property
    def update_limit(self) -> int:
        """Most symbol times between two acknowledgements; flow control updates have the same limit."""
        factor = (
            _ACK_FACTOR[self.lanes][PAYLOADS.index(self.mps)] if self.mps <= 256 else 2.0 if self.lanes == 16 else 1.0
        )
        return floor((self.mps + _TLP_OVERHEAD) * factor / self.lanes + _INTERNAL_DELAY[self.generation])

    @property
    def words(self) -> str:
        return f"Gen{self.generation} x{self.lanes}, MPS {self.mps}, MRRS {self.mrrs}"


def _among(noun: str, value: object, choices: tuple[object, ...]) -> None:
    if value not in choices:
        raise UserError(f"{noun} is {value}", remedy=f"one of {', '.join(map(str, choices))}")
