"""Windows in which the host took a worker's core away, or ran it at another clock."""

from collections.abc import Iterator, Mapping, Sequence
from statistics import median

from windtunnel.engine.lines import Window, WorkerWindow
from windtunnel.runs.validity import Check, Mark
from windtunnel.scenario.validity_keys import Validity as Limits


def marks(windows: Mapping[str, Sequence[Window]], limits: Limits) -> list[Mark]:
    """A mark for each measured window that was disturbed beyond the limits, with every reason."""
    found = []
    for name, measured in windows.items():
        usual = _usual_ticks(measured)
        for window in measured:
            span = window.end_ns - window.start_ns
            reasons = [r for worker in window.workers for r in _reasons(worker, span, usual[worker.worker], limits)]
            if reasons:
                found.append(Mark(engine=name, window=window.index, reasons=reasons))
    return found


def stolen_check(windows: Mapping[str, Sequence[Window]], found: Sequence[Mark], limits: Limits) -> Check:
    """Whether enough windows are left. Its words name the time that was taken, and where."""
    total = sum(len(measured) for measured in windows.values())
    share = len(found) / total if total else 0.0
    taken = "; ".join(_taken(windows))
    words = f"disturbed, and in no figure: {len(found)} of {total} windows" if found else "no window was disturbed"
    remedy = ""
    bad = share > limits.marked or total > 0 and share == 1
    if bad:
        words = f"disturbed: {len(found)} of {total} windows, and at most {limits.marked:.0%} of them may be"
        words = (
            words if limits.marked < 1 else f"every window was disturbed by more than {limits.stolen:.0%}: none is left"
        )
        remedy = "; stop what else runs there, or allow more with validity.stolen and validity.marked"
    state = "bad" if bad else "good"
    return Check(
        name="windows",
        state=state,
        words=(f"{words} ({taken})" if taken else words) + remedy,
        value=share,
        limit=limits.marked,
        unit="share",
    )


def _reasons(worker: WorkerWindow, span_ns: int, usual_ticks: float | None, limits: Limits) -> Iterator[str]:
    for who, taken in (("the kernel", worker.run_delay_ns), ("the hypervisor", worker.stolen_ns)):
        # The kernel books a wait when it ends: it may have begun windows ago, and be longer than this one.
        if taken is not None and min(taken, span_ns) > limits.stolen * span_ns:
            yield f"{who} ran others on CPU {worker.cpu} for {min(taken, span_ns) / span_ns:.0%} of it"
    if worker.chain_ticks and usual_ticks and worker.chain_ticks > usual_ticks * (1 + limits.slower):
        yield f"CPU {worker.cpu} ran {1 - usual_ticks / worker.chain_ticks:.0%} slower than in most windows"


def _usual_ticks(measured: Sequence[Window]) -> dict[int, float | None]:
    """Of each worker: the median over its windows of what the chain took."""
    ticks: dict[int, list[float]] = {}
    for window in measured:
        for worker in window.workers:
            ticks.setdefault(worker.worker, []).extend([worker.chain_ticks] if worker.chain_ticks else [])
    return {worker: median(seen) if seen else None for worker, seen in ticks.items()}


def _taken(windows: Mapping[str, Sequence[Window]]) -> Iterator[str]:
    """Stolen time of each CPU over all measured windows, where there was any to speak of."""
    spans: dict[int, int] = {}
    kernel: dict[int, int] = {}
    hypervisor: dict[int, int] = {}
    for window in (w for measured in windows.values() for w in measured):
        for worker in window.workers:
            spans[worker.cpu] = spans.get(worker.cpu, 0) + window.end_ns - window.start_ns
            kernel[worker.cpu] = kernel.get(worker.cpu, 0) + (worker.run_delay_ns or 0)
            hypervisor[worker.cpu] = hypervisor.get(worker.cpu, 0) + worker.stolen_ns
    for who, taken in (("the kernel", kernel), ("the hypervisor", hypervisor)):
        for cpu, ns in sorted(taken.items()):
            if ns > 0.005 * spans[cpu]:  # less rounds to nothing
                yield f"{who} ran others on CPU {cpu} for {ns / spans[cpu]:.0%} of the time"
