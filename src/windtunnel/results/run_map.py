"""A run before it starts: which stages run on which CPU, the wire, traffic and needs."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from windtunnel import format as fmt
from windtunnel.engine.plan import Endpoint, Load, Plan, Sizes, StageOf, Workload
from windtunnel.engine.plan_values import MESSAGE_HEADER_BYTES
from windtunnel.part_registry import part_functions
from windtunnel.results.document import Cell, Column, Document, Marked, Sentence, Table, Tone, first_of_group
from windtunnel.scenario import RunSpec
from windtunnel.scenario.cpu_map import MARKS
from windtunnel.scenario.quantities import write

_TONES: Mapping[str, Tone] = {"emulated": "emulated", "note": "warning"}


def run_map_document(file: Path, spec: RunSpec) -> Document:
    """The client above the wire, the server below it, a line for each worker; then traffic, mbufs, memory and notes."""
    labels, texts = zip(*facts(spec), strict=True)
    needs = Table(
        [
            Column("", first_of_group(labels), words=True),
            Column(
                "",
                [Marked(text, _TONES.get(label, "plain")) for label, text in zip(labels, texts, strict=True)],
                words=True,
            ),
        ]
    )
    return Document(
        kind="scenario",
        title=spec.title,
        question=spec.question or None,
        blocks=[_workers(spec), *_maps(spec), needs],
        verdict=Sentence(f"{file}: ", Marked("valid scenario", "good", strong=True)),
    )


def _workers(spec: RunSpec) -> Table:
    rows: list[tuple[Cell, Cell, Cell]] = []
    placed = [(endpoint, plan) for plan in spec.plans for endpoint in plan.endpoints]
    for position, (endpoint, plan) in enumerate(sorted(placed, key=lambda pair: pair[0].side)):
        if position:
            rows.append(_wire(endpoint, len(spec.plans)))
        name: str = endpoint.side
        for cpu, stages in by_cpu(plan, endpoint):
            rows.append((Marked(name, strong=True), f"CPU {cpu}", "  ".join(f"{s.stage}:{s.index}" for s in stages)))
            name = ""
    if len(placed) == 1:
        rows.append(_wire(placed[0][0], 1))
    return Table([Column("", cells, words=True) for cells in zip(*rows, strict=True)])


def _maps(spec: RunSpec) -> Iterator[Table]:
    for cpu_map in spec.maps:
        if not cpu_map.rows:
            continue
        letters = {letter for row in cpu_map.rows for letter in row.marks}
        legend = ", ".join(f"{letter} {meaning}" for letter, meaning in MARKS.items() if letter in letters)
        rows = [*((row.place, f"CPU {row.cpus}", row.marks) for row in cpu_map.rows), ("", "", legend)]
        if not any(place for place, _, _ in rows):
            rows = [("CPUs", cpus, marks) for _, cpus, marks in rows]
        yield Table([Column("", list(cells), words=True) for cells in zip(*rows, strict=True)])


def _wire(endpoint: Endpoint, processes: int) -> tuple[Cell, Cell, Cell]:
    return "", "  ↕", Marked(wire_words(endpoint, processes), "subject")


def by_cpu(plan: Plan, endpoint: Endpoint) -> list[tuple[int, list[StageOf]]]:
    """CPU and stages of the workers that run some of the endpoint's, in the order of their loops."""
    index = plan.endpoints.index(endpoint)
    placed = [(worker.cpu, [stage for stage in worker.stages if stage.endpoint == index]) for worker in plan.workers]
    return [(cpu, stages) for cpu, stages in placed if stages]


def wire_words(endpoint: Endpoint, processes: int) -> str:
    """ "wire ring, 1 queue". `processes`: of the run."""
    port = endpoint.port
    queues = f"{port.queues} queue{'s' if port.queues > 1 else ''}"
    what = [f"{name} {value}" for name, value in port.options.items()]
    if processes > 1:
        what.append("two processes")
    return ", ".join([f"wire {port.wire}", *what, queues])


def facts(spec: RunSpec) -> Iterator[tuple[str, str]]:
    """Label and words: traffic, mbufs, memory, what is emulated, notes."""
    asking = spec.plans[-1]
    for index, workload in enumerate(asking.workloads):
        applications = [app for endpoint in asking.endpoints for app in endpoint.applications if app.workload == index]
        yield "traffic", _traffic(workload, sum(app.inflight for app in applications))
    for side, demand in spec.demands.items():
        parts = " + ".join(f"{count} {owner}" for owner, count in demand.mbufs.items())
        yield "mbufs", f"{side}: a pool of {demand.size}, at most {demand.total} in use ({parts})"
    yield "memory", " + ".join(_memory(plan) for plan in spec.plans)
    for reason in (reason for cpu_map in spec.maps for reason in cpu_map.reasons):
        yield "placement", reason
    for mark in spec.emulated:
        yield "emulated", mark.removeprefix("emulated ")
    for note in spec.notes:
        yield "note", note


def _traffic(workload: Workload, inflight: int) -> str:
    """One line on a workload. Without a client in this run, the load is not known."""
    what = next(
        filter(None, (text(workload) for text in part_functions("run_map", "workload_text"))), _handled(workload)
    )
    if workload.load is None:
        return f"{workload.name}: {what}"
    pace = ", ".join([*_rates(workload.load), f"{inflight} in flight at most"])
    return f"{workload.name}: {what}; {workload.load.mode} loop, {pace}"


def _handled(workload: Workload) -> str:
    handlers = [h.name for h in (workload.packet_handler, workload.handler) if h]
    seen_by = f"handled by {' and '.join(handlers)}"
    if workload.load is None:
        return seen_by
    asked = _sizes(workload.request_bytes, workload.request_sizes)
    responses = _sizes(workload.response_bytes, workload.response_sizes)
    return f"{seen_by}, requests {asked}, responses {responses}"


def _sizes(largest: int, sizes: Sizes | None) -> str:
    """ "86B (70B body)", or "16B to 1472B by weight"."""
    if sizes is None:
        return f"{write('size', largest)} ({write('size', largest - MESSAGE_HEADER_BYTES)} body)"
    how = {"sequence": f"in turns of {len(sizes.bytes)}", "uniform": "each alike", "weighted": "by weight"}[sizes.kind]
    return f"{write('size', min(sizes.bytes))} to {write('size', max(sizes.bytes))} {how}"


def _rates(load: Load) -> list[str]:
    """The rate, or the phases with the least and the greatest of theirs."""
    phases = load.phases[load.lead :]
    if not phases:
        return []
    rates, arrivals = [phase.rate_per_s for phase in phases], " and ".join(sorted({p.arrivals for p in phases}))
    bursts = ["in bursts"] if any(phase.on_ns for phase in phases) else []
    if len(phases) == 1:
        return [f"{fmt.rate(rates[0])} {arrivals}", *bursts]
    return [f"{len(phases)} phases of {fmt.rate(min(rates))} to {fmt.rate(max(rates))} {arrivals}", *bursts]


def _memory(plan: Plan) -> str:
    args = plan.eal.args
    return f"{args[args.index('-m') + 1]} MiB without hugepages" if "-m" in args else "hugepages, as needed"
