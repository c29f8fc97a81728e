"""A run before it starts: stages on CPUs, the wire, and the needs."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from windtunnel import format as fmt
from windtunnel.scenario.quantities import write

if TYPE_CHECKING:
    from windtunnel.engine.plan import Endpoint, Load, Plan, Sizes, Stream, Workload
    from windtunnel.scenario import RunSpec


def run_map(file: Path, spec: "RunSpec") -> RenderableType:
    """The client above the wire, the server below it, a line for each worker; then traffic, mbufs, memory and notes."""
    head = Text.assemble(
        f"{file}: ", ("valid scenario", "bold green"), "  ", (spec.question, "italic"), overflow="fold"
    )
    facts = Table.grid(padding=(0, 2, 0, 0))
    label = None
    for name, text in _facts(spec):
        facts.add_row(name if name != label else "", text)
        label = name
    return Group(
        head,
        Text(),
        Padding(_workers(spec), (0, 0, 0, 2), expand=False),
        Text(),
        Padding(facts, (0, 0, 0, 2), expand=False),
        Text(),
    )


def _facts(spec: "RunSpec") -> Iterator[tuple[str, Text]]:
    asking = spec.plans[-1]
    for index, workload in enumerate(asking.workloads):
        applications = [app for endpoint in asking.endpoints for app in endpoint.applications if app.workload == index]
        yield "traffic", Text(_traffic(workload, sum(app.inflight for app in applications)))
    for side, demand in spec.demands.items():
        parts = " + ".join(f"{count} {owner}" for owner, count in demand.mbufs.items())
        yield "mbufs", Text(f"{side}: a pool of {demand.size}, at most {demand.total} in use ({parts})")
    yield "memory", Text(" + ".join(_memory(plan) for plan in spec.plans))
    for mark in spec.emulated:
        yield "emulated", Text(mark.removeprefix("emulated "), style="magenta")
    for note in spec.notes:
        yield "note", Text(note, style="yellow")


def _workers(spec: "RunSpec") -> Table:
    grid = Table.grid(padding=(0, 2, 0, 0))
    placed = [(endpoint, plan) for plan in spec.plans for endpoint in plan.endpoints]
    for position, (endpoint, plan) in enumerate(sorted(placed, key=lambda pair: pair[0].side)):
        if position:
            grid.add_row("", "  ↕", Text(_wire(endpoint, processes=len(spec.plans)), style="cyan"))
        name: str = endpoint.side
        for cpu, stages in _by_cpu(plan, endpoint):
            grid.add_row(Text(name, style="bold"), f"CPU {cpu}", "  ".join(stages))
            name = ""
    if len(placed) == 1:
        grid.add_row("", "  ↕", Text(_wire(placed[0][0], processes=1), style="cyan"))
    return grid


def _by_cpu(plan: "Plan", endpoint: "Endpoint") -> list[tuple[int, list[str]]]:
    """CPU and stages of the workers that run some of the endpoint's."""
    mine = plan.endpoints.index(endpoint)
    found = [(w.cpu, [f"{s.stage}:{s.index}" for s in w.stages if s.endpoint == mine]) for w in plan.workers]
    return [(cpu, stages) for cpu, stages in found if stages]


def _wire(endpoint: "Endpoint", processes: int) -> str:
    port = endpoint.port
    queues = f"{port.queues} queue{'s' if port.queues > 1 else ''}"
    what = [f"{name} {value}" for name, value in port.options.items()]
    if processes > 1:
        what.append("two processes")
    return ", ".join([f"wire {port.wire}", *what, queues])


def _traffic(workload: "Workload", inflight: int) -> str:
    """One line on a workload. Without a client in this run, the load is not known."""
    what = _stream(workload.stream) if workload.stream else _handled(workload)
    if workload.load is None:
        return f"{workload.name}: {what}"
    pace = ", ".join([*_rates(workload.load), f"{inflight} in flight at most"])
    return f"{workload.name}: {what}; {workload.load.mode} loop, {pace}"


def _stream(stream: "Stream") -> str:
    buffers = f"buffers {write('size', stream.send_buffer_bytes)} to send, {write('size', stream.receive_buffer_bytes)} to receive"
    return f"a TCP stream in writes of {write('size', stream.write_bytes)}, {buffers}"


def _handled(workload: "Workload") -> str:
    handlers = [h.name for h in (workload.packet_handler, workload.handler) if h]
    seen_by = f"handled by {' and '.join(handlers)}"
    if workload.load is None:
        return seen_by
    asked = _sizes(workload.request_bytes, workload.request_sizes)
    responses = _sizes(workload.response_bytes, workload.response_sizes)
    return f"{seen_by}, requests {asked}, responses {responses}"


def _sizes(largest: int, sizes: "Sizes | None") -> str:
    """ "86B", or "16B to 1472B by weight"."""
    if sizes is None:
        return write("size", largest)
    how = {"sequence": f"in turns of {len(sizes.bytes)}", "uniform": "each alike", "weighted": "by weight"}[sizes.kind]
    return f"{write('size', min(sizes.bytes))} to {write('size', max(sizes.bytes))} {how}"


def _rates(load: "Load") -> list[str]:
    """The rate, or the phases with the least and the greatest of theirs."""
    phases = load.phases[load.lead :]
    if not phases:
        return []
    rates, arrivals = [phase.rate_per_s for phase in phases], " and ".join(sorted({p.arrivals for p in phases}))
    bursts = ["in bursts"] if any(phase.on_ns for phase in phases) else []
    if len(phases) == 1:
        return [f"{fmt.rate(rates[0])} {arrivals}", *bursts]
    return [f"{len(phases)} phases of {fmt.rate(min(rates))} to {fmt.rate(max(rates))} {arrivals}", *bursts]


def _memory(plan: "Plan") -> str:
    args = plan.eal.args
    return f"{args[args.index('-m') + 1]} MiB without hugepages" if "-m" in args else "hugepages, as needed"
