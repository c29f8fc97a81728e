"""The verdict on a run: made here from the observed facts, never by the engine.

Each reason is a stable code, a colon and words: "engine died: SIGSEGV while opening ./libmine.so". `windtunnel.engine.reasons` has the codes.
Those of `windtunnel.measure.validity` come after them.
"""

import signal
from collections.abc import Iterator
from dataclasses import dataclass, field

from windtunnel.engine.history import History, SupervisedRun
from windtunnel.engine.lines import Result
from windtunnel.engine.reasons import reason
from windtunnel.part_registry import part_functions

VALID, INVALID, REFUSED, CANNOT_TELL, INTERRUPTED = 0, 1, 2, 3, 130

WITHOUT_RESPONSE = {"drop", "empty"}
"""Packet handlers that, without a message handler behind them, send no response."""

NOT_WRITTEN = reason("run directory", "")
"""Prefix of the reason why the run directory could not be written."""
INTERRUPTED_BY_USER = reason("stopped before the end", "interrupted by the user")
READER_LEFT = reason("stopped before the end", "the reader of its progress has left")
"""What head -1 does, behind a pipe."""


@dataclass(frozen=True)
class Verdict:
    """Whether the run's numbers may be used; `reasons` says why not and is empty for a valid run."""

    valid: bool
    reasons: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.valid == bool(self.reasons):
            raise ValueError(f"a verdict is valid without reasons or invalid with some, not {self}")


def judge(finished: SupervisedRun) -> Verdict:
    """Valid only if every engine ended well with closed ledgers, and the run was not stopped early."""
    reasons = [f"{NOT_WRITTEN}{finished.not_written}"] if finished.not_written else []
    if finished.interrupted:
        reasons.append(INTERRUPTED_BY_USER)
    if finished.unread:
        reasons.append(READER_LEFT)
    one_side = len(finished.histories) == 1
    for history in sorted(finished.histories, key=lambda h: h.ended_at or 0.0):
        others = [other for other in finished.histories if other is not history]
        for each in _reasons(history, others, finished):
            reasons.append(each if one_side else f"{each} [{history.name}]")
    return Verdict(not reasons, reasons)


def exit_code(finished: SupervisedRun, verdict: Verdict) -> int:
    """Exit code of `windtunnel run`: 0 valid, 1 invalid, 2 refused by the engine, 130 interrupted."""
    if verdict.valid:
        return VALID
    if finished.interrupted:
        return INTERRUPTED
    return REFUSED if any(history.refusal for history in finished.histories) else INVALID


def _reasons(history: History, others: list[History], finished: SupervisedRun) -> Iterator[str]:
    if history.protocol_error:
        yield reason("protocol error", history.protocol_error)
    elif history.refusal:
        remedy = f" ({history.refusal.remedy})" if history.refusal.remedy else ""
        yield reason("engine refused", f"{history.refusal.message}{remedy}")
    elif history.exit_code != 0:
        yield from _died(history, others, finished)
    elif history.result is None:
        where = "in the middle of a line" if history.cut_short else "before its result"
        yield reason("no result", f"the engine exited with code 0 {where}")
    if history.result is not None:
        yield from _unsound(history, history.result, others, finished)


def _died(history: History, others: list[History], finished: SupervisedRun) -> Iterator[str]:
    if history.killed_because and history.exit_code == -signal.SIGKILL:
        if history.peer_gone:
            yield reason("peer lost", history.killed_because)
        elif not finished.stopped and not finished.not_written:
            yield reason("engine killed", f"{history.killed_because} while {history.phase}")
    elif _lost_peer_before(history, others):
        yield reason("engine died", f"{_end(history)} after peer loss")
    else:
        yield reason("engine died", f"{_end(history)} while {history.phase}{_plugins(history)}{_starts(history)}")


def _starts(history: History) -> str:
    if history.starts == 1:
        return ""
    return f", as in each of {history.starts} starts: a program that is not the other side may connect to its socket"


def _plugins(history: History) -> str:
    """The plug-ins that ran in the engine: the user's own code is the first place to look."""
    handlers = [h for workload in history.plan.workloads for h in (workload.handler, workload.packet_handler) if h]
    of_parts = [path for plugins in part_functions("verdict", "plugins") for path in plugins(history.plan)]
    paths = dict.fromkeys([*(handler.name for handler in handlers if "/" in handler.name), *of_parts])
    loaded = [path for path in paths if path not in history.phase]
    return f", with the plug-in {', '.join(loaded)} loaded" if loaded else ""


def _lost_peer_before(history: History, others: list[History]) -> bool:
    """A kill from outside comes first, even if the crash that it caused was noticed earlier."""
    return any(
        not other.ended_well
        and other.killed_because is None
        and ((other.ended_at or 0.0) < (history.ended_at or 0.0) or other.exit_code == -signal.SIGKILL)
        for other in others
    )


def _end(history: History) -> str:
    return history.signal_name or f"exit code {history.exit_code}"


def _unsound(history: History, result: Result, others: list[History], finished: SupervisedRun) -> Iterator[str]:
    """What is wrong with a run that came to its result."""
    # A client that has finished may be gone before its server gets the request to stop.
    if result.reason == "peer lost" and not any(other.is_client and other.ended_well for other in others):
        yield reason("peer lost", "the engine saw the other side go")
    elif result.reason == "peer stopped":
        yield reason("stopped before the end", "the other side was stopped")
    elif result.reason == "parent lost":
        yield reason("stopped before the end", "the control pipe was closed")
    elif result.reason == "stopped" and history.peer_gone and not finished.stopped:
        # The supervisor's word can reach it before it looks at its link.
        yield reason("peer lost", "it was stopped because the other side was gone")
    elif result.reason == "stopped" and not (history.peer_done or finished.stopped):
        yield reason("stopped before the end", "the engine was asked to stop")
    yield from _open_ledgers(history, result)
    for unsound in part_functions("verdict", "unsound"):
        yield from unsound(history, result)
    lost = [
        why
        for lost_connections in part_functions("verdict", "lost_connections")
        for why in lost_connections(history, result, finished)
    ]
    yield from lost
    for counter in result.counters:
        if counter.kind == "wrong" and counter.value:
            of = f" of {counter.of}" if counter.of else ""
            yield reason(
                "handler wrong", f"{counter.name}{of}: {counter.value} {counter.unit} ({counter.stage}:{counter.index})"
            )
    if result.worker_allocations:
        yield reason(
            "worker allocations", f"{result.worker_allocations} heap allocations on worker threads after start"
        )
    if lost or finished.stopped:
        return
    if history.measured == 0:
        yield reason("nothing measured", "no window of the phase measure")
    else:
        yield from _without_response(history, result)


def _open_ledgers(history: History, result: Result) -> Iterator[str]:
    for mbufs in result.mbufs:
        if mbufs.missing:
            held = ", ".join(f"{owner} {count}" for owner, count in mbufs.held.items()) or "no owner"
            yield reason(
                "ledger open",
                f"{mbufs.missing} mbufs missing at the {mbufs.endpoint} "
                f"(pool {mbufs.size}, free {mbufs.free}, held by {held})",
            )
    for packets in result.packets:
        if packets.missing:
            yield reason(
                "ledger open", f"{packets.missing} packets missing of {packets.sent} that the {packets.source} sent"
            )
    for messages in result.messages:
        if messages.missing:
            name = history.plan.workloads[messages.workload].name
            yield reason("ledger open", f"{messages.missing} messages missing of {messages.sent} in workload {name}")


def _without_response(history: History, result: Result) -> Iterator[str]:
    if not history.is_client or "silent" in history.plan.endpoints[0].port.traits:
        return
    for messages in result.messages:
        workload = history.plan.workloads[messages.workload]
        mute = workload.handler is None and workload.packet_handler and workload.packet_handler.name in WITHOUT_RESPONSE
        all_lost = messages.lost > 0 and history.responses[messages.workload] == 0
        if mute or not (messages.responses == 0 or all_lost):
            continue
        outside = f", {messages.responses} responses, none of them in a measured window" if messages.responses else ""
        yield reason("no responses", f"{messages.sent} sent, {messages.lost} lost in workload {workload.name}{outside}")
