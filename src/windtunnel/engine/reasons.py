"""Why a run may be invalid by its end and its ledgers: the codes with which the supervisor's reasons begin, each with its cause and what to
do. The codes for what a run measured are in `windtunnel.runs.validity`."""

from collections.abc import Iterable
from typing import Final

from windtunnel.engine.reason import OURS, Reason
from windtunnel.part_registry import part_modules

_LOG = "`engine.log` in the run directory has what DPDK and its drivers printed last."

_OF_SPINE: Final[dict[str, Reason]] = {
    "engine refused": Reason(
        "The engine cannot run the plan on this host: a device, a queue, memory or a right that it needs is missing.",
        f"Do what the text in parentheses says, if there is one; `windtunnel host doctor` shows what this host has. {_LOG}",
    ),
    "engine died": Reason(
        "The engine ended by a signal or with an error. The reason names the phase in which it ended, and the plug-ins that were loaded.",
        f"Look at the plug-in first if one was loaded. {_LOG} {OURS}",
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
        f"Build the engine again if it is of another release than the package. {OURS}",
        is_fault=True,
    ),
    "no result": Reason(
        "The engine ended as if all was well, but without its last line.", f"{_LOG} {OURS}", is_fault=True
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
    "ledger open": Reason(
        "At the end mbufs, packets, messages, copies or bytes of a stream are missing: nothing holds them and no drop counts them.",
        f"Look for mbufs or copies that a plug-in keeps or frees twice. {OURS}",
        is_fault=True,
    ),
    "handler wrong": Reason(
        "A counter of errors that the handler keeps is not 0. The reason names the counter.",
        "Look at the counter in [Handlers](handlers.md), or in the source of the plug-in.",
        is_fault=True,
    ),
    "worker allocations": Reason(
        "A worker thread allocated heap memory after the start, which can delay it for long.",
        f"Let the plug-in allocate its memory when it is opened. {OURS}",
        is_fault=True,
    ),
    "run directory": Reason(
        "The run directory could not be written. The reason names the file and the error of the system.",
        "Free space on the disk, or name a directory that you may write with `--out`.",
    ),
}
REASONS: Final[dict[str, Reason]] = _OF_SPINE | {
    code: why for part in part_modules("reasons") for code, why in part.REASONS.items()
}
FAULTS: Final = {code for code, of in REASONS.items() if of.is_fault}


def fault(reasons: Iterable[str]) -> str | None:
    """The first of these reasons of a verdict that is a fault; None if none is."""
    return next((each for each in reasons if each.partition(":")[0] in FAULTS), None)


def reason(code: str, words: str) -> str:
    """As it stands in a verdict: the code, a colon and what was seen."""
    return f"{code}: {words}"
