"""Windows that do not count: a worker or the thread of a copier was preempted, the hypervisor took its CPU (steal), the process was stopped, the CPU ran at a
lower clock, or a port had no link."""

from collections.abc import Iterator, Mapping, Sequence
from statistics import median
from typing import Any

from windtunnel.engine.windows import PortWindow, Window, WorkerWindow
from windtunnel.part_registry import part_functions
from windtunnel.runs.record import EngineRecord
from windtunnel.runs.validity import WINDOWS, Check, ExcludedWindow
from windtunnel.scenario.validity_keys import Validity as Limits

LATE_NS = 10_000_000
"""How late the end of a window may be in any case: the engine's main thread, which ends it, waits for its turn on a CPU that
workers fill."""
LINK = "the link"


def lengths(engines: Sequence[EngineRecord], windows: Mapping[str, Sequence[Window]]) -> dict[str, list[int]]:
    """How long each measured window should last, ns. The last one also takes what is left of the duration."""
    planned = {}
    for engine in engines:
        phases = engine.plan.phases
        of_engine = [phases.window_ns] * len(windows[engine.name])
        of_engine[-1:] = [phases.window_ns + phases.duration_ns % phases.window_ns] * len(of_engine[-1:])
        planned[engine.name] = of_engine
    return planned


def excluded(
    windows: Mapping[str, Sequence[Window]], lengths_ns: Mapping[str, Sequence[int]], limits: Limits
) -> list[ExcludedWindow]:
    """Each measured window that exceeds a limit, with every reason. `lengths_ns`: how long each should last."""
    excluded = []
    for name, measured in windows.items():
        usual = _usual_ticks(measured)
        for window, length in zip(measured, lengths_ns[name], strict=True):
            span = window.end_ns - window.start_ns
            reasons = list(_stopped(span, length, limits))
            reasons += [r for thread, text in _threads(window) for r in _lost(thread, text, span, limits)]
            reasons += [r for port in window.ports for r in _unlinked(port, span)]
            reasons += [r for worker in window.workers for r in _slower(worker, usual[worker.worker], limits)]
            if reasons:
                excluded.append(ExcludedWindow(engine=name, window=window.index, reasons=reasons))
    return excluded


def windows_check(
    windows: Mapping[str, Sequence[Window]], marks: Sequence[ExcludedWindow], limits: Limits, by: str | None = None
) -> Check:
    """Whether enough windows are left; with the preemption and steal of each CPU. `by`: names of the programs that ran there."""
    total = sum(len(measured) for measured in windows.values())
    share = len(marks) / total if total else 0.0
    lost = "; ".join(_lost_time(windows, by))
    sentence = f"{len(marks)} of {total} windows excluded" if marks else "no window excluded"
    remedy = ""
    without = _without_windows(windows, marks)
    too_few_left = share > limits.max_excluded_windows or bool(without)
    if too_few_left:
        limit, none = f", the limit is {limits.max_excluded_windows:.0%}", f": none is left of {', '.join(without)}"
        sentence += limit if share > limits.max_excluded_windows else none
        remedy = "; stop other programs on these CPUs, or raise validity.max_preempted or validity.max_excluded_windows"
        if any(reason.startswith(LINK) for mark in marks for reason in mark.reasons):
            remedy = "; a link was down: see to its cable and its other end" + remedy
    return Check(
        name=WINDOWS,
        state="bad" if too_few_left else "good",
        words=(f"{sentence} ({lost})" if lost else sentence) + remedy,
        value=share,
        limit=limits.max_excluded_windows,
        unit="share",
    )


def _without_windows(windows: Mapping[str, Sequence[Window]], marks: Sequence[ExcludedWindow]) -> list[str]:
    """Engines of which no window is left: the run has no metrics of theirs."""
    out = {(mark.engine, mark.window) for mark in marks}
    return [
        name
        for name, engine_windows in windows.items()
        if engine_windows and all((name, window.index) in out for window in engine_windows)
    ]


def _stopped(span_ns: int, nominal_ns: int, limits: Limits) -> Iterator[str]:
    """A stopped process is not runnable: no counter of the kernel or of the hypervisor shows the time."""
    if limits.max_preempted < 1 and span_ns - nominal_ns > max(limits.max_preempted * nominal_ns, LATE_NS):
        lasted = f"window lasted {span_ns / 1e6:.0f} ms instead of {nominal_ns / 1e6:.0f} ms"
        yield f"{lasted}: the process was stopped or had no CPU"


def _threads(window: Window) -> Iterator[tuple[Any, str]]:
    """What must have its CPU: workers, and threads of parts with their name."""
    yield from ((worker, "") for worker in window.workers)
    for threads in part_functions("validity", "threads"):
        yield from threads(window)


def _lost(thread: Any, thread_text: str, span_ns: int, limits: Limits) -> Iterator[str]:
    for cause, ns in (("preempted", thread.preempted_ns), ("steal", thread.steal_ns)):
        # The kernel books a wait when it ends: it may have begun windows ago, and be longer than this one.
        if ns is not None and min(ns, span_ns) > limits.max_preempted * span_ns:
            yield f"{cause} on CPU {thread.cpu}{thread_text} for {min(ns, span_ns) / span_ns:.0%} of the window"


def _unlinked(port: PortWindow, span_ns: int) -> Iterator[str]:
    """Packets were lost that no data plane could have received, or the other end sent none."""
    if port.link_down_ns:
        yield f"{LINK} of the {port.endpoint} was down for {min(port.link_down_ns, span_ns) / span_ns:.0%} of the window"


def _slower(worker: WorkerWindow, usual_ticks: float | None, limits: Limits) -> Iterator[str]:
    if worker.chain_ticks and usual_ticks and worker.chain_ticks > usual_ticks * (1 + limits.max_slowdown):
        yield f"CPU {worker.cpu} {1 - usual_ticks / worker.chain_ticks:.0%} slower than in most windows"


def _usual_ticks(measured: Sequence[Window]) -> dict[int, float | None]:
    """Each worker's median, over its windows, of the calibration chain's ticks."""
    ticks: dict[int, list[float]] = {}
    for window in measured:
        for worker in window.workers:
            ticks.setdefault(worker.worker, []).extend([worker.chain_ticks] if worker.chain_ticks else [])
    return {worker: median(values) if values else None for worker, values in ticks.items()}


def _lost_time(windows: Mapping[str, Sequence[Window]], by: str | None) -> Iterator[str]:
    """Preemption, with the programs behind it, and steal of each CPU over all measured windows, if it is 0.5% or more."""
    spans: dict[int, int] = {}
    kernel: dict[int, int] = {}
    hypervisor: dict[int, int] = {}
    for window in (w for measured in windows.values() for w in measured):
        for thread, _ in _threads(window):
            spans[thread.cpu] = spans.get(thread.cpu, 0) + window.end_ns - window.start_ns
            kernel[thread.cpu] = kernel.get(thread.cpu, 0) + (thread.preempted_ns or 0)
            hypervisor[thread.cpu] = hypervisor.get(thread.cpu, 0) + thread.steal_ns
    for cause, lost, programs in (("preempted", kernel, by), ("steal", hypervisor, None)):
        losses = [
            f"{cause} on CPU {cpu} for {min(ns / spans[cpu], 1.0):.0%} of the time"
            for cpu, ns in sorted(lost.items())
            if ns > 0.005 * spans[cpu]  # less rounds to nothing
        ]
        if losses and programs:
            losses[-1] += f", by {programs}"
        yield from losses
