"""Why a run may be invalid by its end and its ledgers: the codes with which the supervisor's reasons begin, each with its cause and what to
do. The codes for what a run measured are in `windtunnel.runs.validity`."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal

Code = Literal[
    "engine refused",
    "engine died",
    "engine killed",
    "peer lost",
    "protocol error",
    "no result",
    "stopped before the end",
    "nothing measured",
    "no responses",
    "no connection",
    "stream reset",
    "ledger open",
    "copies wrong",
    "copies never ended",
    "region wrong",
    "handler wrong",
    "worker allocations",
    "run directory",
]


@dataclass(frozen=True)
class Reason:
    cause: str
    remedy: str
    is_fault: bool = False
    """Of the program that was measured: a busy host does not cause it again and again on one side alone."""


_LOG = "`engine.log` in the run directory has what DPDK and its drivers printed last."
_OURS = "If no plug-in took part, this is a fault of Windtunnel: report it with the run directory."

REASONS: Final[dict[Code, Reason]] = {
    "engine refused": Reason(
        "The engine cannot run the plan on this host: a device, a queue, memory or a right that it needs is missing.",
        f"Do what the text in parentheses says, if there is one; `windtunnel host doctor` shows what this host has. {_LOG}",
    ),
    "engine died": Reason(
        "The engine ended by a signal or with an error. The reason names the phase in which it ended, and the plug-ins that were loaded.",
        f"Look at the plug-in first if one was loaded. {_LOG} {_OURS}",
        is_fault=True,
    ),
    "engine killed": Reason(
        "The supervisor killed the engine: it was silent for too long, ran past its time, or had lost its peer.",
        "If the reason names a worker that has not run, stop other programs on its CPU, or look for an endless loop in the handler. "
        f"{_LOG}",
        is_fault=True,
    ),
    "peer lost": Reason(
        "The other process or the other host was gone before the run ended, or was silent for 3 s.",
        "Look at the run of the other side: its reason says why it ended. If it still ran, look at the link between the two.",
    ),
    "protocol error": Reason(
        "The engine's output has a line that the supervisor cannot read.",
        f"Build the engine again if it is of another release than the package. {_OURS}",
        is_fault=True,
    ),
    "no result": Reason(
        "The engine ended as if all was well, but without its last line.", f"{_LOG} {_OURS}", is_fault=True
    ),
    "stopped before the end": Reason(
        "The user, the other side, or the end of the process that started it stopped the run.",
        "Let the run come to its end; a shorter `duration` ends it sooner. The windows measured until then are shown as rejected.",
    ),
    "nothing measured": Reason(
        "The run ended before the first window of the measurement.",
        "Make the run longer than `warmup` and one `window`. If the run has another reason, remove that one first.",
    ),
    "no responses": Reason(
        "The client sent messages of the workload, and no response came, or none in a measured window.",
        "Look at the drops of both sides: their names say why packets were not used. Without a drop, look at addresses, ports and the link, or "
        "raise `timeout`.",
        is_fault=True,
    ),
    "no connection": Reason(
        "The peer sent no response to the request for a TCP connection, or has reset it because no program listens on the port.",
        "Start the server first, and look at `peer_ip` and `peer_port`. If the peer is the kernel behind a veth, `ethtool -K INTERFACE tx off` is needed at its end.",
    ),
    "stream reset": Reason(
        "The peer reset an open TCP connection.",
        "Look at the peer: it closed its socket or ended. A copier that did not end a copy within `timeout` resets its connection, too.",
    ),
    "ledger open": Reason(
        "At the end mbufs, packets, messages, copies or bytes of a stream are missing: nothing holds them and no drop counts them.",
        f"Look for mbufs or copies that a plug-in keeps or frees twice. {_OURS}",
        is_fault=True,
    ),
    "copies wrong": Reason(
        "A body arrived with other bytes than it was sent with. The reason names the first wrong byte.",
        f'Look at the copier and at its driver: run again with `engine = "cpu"` to tell it from the rest. {_OURS}',
        is_fault=True,
    ),
    "copies never ended": Reason(
        "A copier took copies and did not report their end within `timeout`. Their mbufs are not used again.",
        "Raise `timeout` of the copies if the device is slow under this load. Otherwise look at the device and its driver.",
        is_fault=True,
    ),
    "region wrong": Reason(
        "An RDMA READ or WRITE moved other bytes than those of its place in the region.",
        "Look at the RDMA device and its provider: run again with another `provider` to tell it from the rest.",
        is_fault=True,
    ),
    "handler wrong": Reason(
        "A counter of errors that the handler keeps is not 0. The reason names the counter.",
        "Look at the counter in [Handlers](handlers.md), or in the source of the plug-in.",
        is_fault=True,
    ),
    "worker allocations": Reason(
        "A worker thread allocated heap memory after the start, which can delay it for long.",
        f"Let the plug-in allocate its memory when it is opened. {_OURS}",
        is_fault=True,
    ),
    "run directory": Reason(
        "The run directory could not be written. The reason names the file and the error of the system.",
        "Free space on the disk, or name a directory that you may write with `--out`.",
    ),
}
FAULTS: Final = {code for code, of in REASONS.items() if of.is_fault}


def fault(reasons: Iterable[str]) -> str | None:
    """The first of these reasons of a verdict that is a fault; None if none is."""
    return next((each for each in reasons if each.partition(":")[0] in FAULTS), None)


def reason(code: Code, words: str) -> str:
    """As it stands in a verdict: the code, a colon and what was seen."""
    return f"{code}: {words}"
