"""A run as a document."""

from collections.abc import Iterator, Sequence
from itertools import chain

from windtunnel import format as fmt
from windtunnel.measure.earlier import Earlier, line
from windtunnel.part_registry import part_functions
from windtunnel.results.document import Block, Document, Fold, Headlines, Listing, Rejected, Section, Sentence
from windtunnel.results.host import host_facts, host_section, pretty
from windtunnel.results.monitor import monitor_sections
from windtunnel.results.run.handlers import handler_sections
from windtunnel.results.run.machine import (
    crossing_section,
    event_section,
    level_section,
    nic_sections,
    port_section,
    value_section,
    worker_section,
)
from windtunnel.results.run.stages import drop_section, stage_details, stage_sections
from windtunnel.results.run.validity import (
    check_section,
    ledger_section,
    reasons_panel,
    state_sections,
    verdict_sentence,
)
from windtunnel.results.run.workloads import latency_section, phase_section, variant_section
from windtunnel.runs.joined import SIDES, Joined, on_two_hosts
from windtunnel.runs.labels import words as label_words
from windtunnel.runs.metrics import ratio
from windtunnel.runs.notices import notes_of, notices, warnings_of
from windtunnel.runs.path import derived_mpps, packet_ns
from windtunnel.runs.reader import Run
from windtunnel.runs.record import Record
from windtunnel.runs.registry.percentiles import PERCENTILES
from windtunnel.runs.summary import Summary, rejected_words, summarise


def run_document(run: Run, earlier: Earlier | None = None, files: Sequence[tuple[str, str]] = ()) -> Document:
    """Everything of one run, and its place among the earlier ones. The metrics of an invalid run stand below its reasons, marked as rejected."""
    record = run.record
    summary = summarise(run) if run.has_metrics else None
    found = notices(run, summary) if summary else []
    blocks: list[Block] = []
    if not record.verdict.valid:
        blocks.append(reasons_panel(record.verdict, "metrics rejected" if run.rejected else "no window was measured"))
    if summary:
        metrics: list[Block] = [_headlines(summary)] if record.engines else []
        metrics += _sections(run, summary)
        blocks += [Sentence(rejected_words(run), tone="bad"), Rejected(metrics)] if run.rejected else metrics
    blocks += chain(check_section(record.validity), ledger_section(record.engines), nic_sections(record.engines))
    blocks += [_earlier(line(earlier))] if earlier else []
    return Document(
        kind="import" if record.imported else "observation" if record.observed else "run",
        title=record.title,
        question=record.question,
        at=record.imported.at if record.imported else record.started,
        how=[*_hosts(run), *_how(record)],
        emulated=record.emulated,
        notes=record.all_notes(),
        blocks=[*blocks, _host(run)],
        footnotes=notes_of(found),
        warnings=[*warnings_of(found), *run.problems],
        verdict=verdict_sentence(run),
        files=[*files, *((side, str(path)) for side, path in (run.paths.items() if isinstance(run, Joined) else ()))],
        made_from=_made_from(record),
    )


def header(record: Record) -> Document:
    """What is known of a run before it has measured anything."""
    return Document(
        kind="run", title=record.title, question=record.question, blocks=(), how=_how(record), emulated=record.emulated,
        notes=record.all_notes(),
    )  # fmt: skip


def _sections(run: Run, summary: Summary) -> Iterator[Section]:
    """All that was measured, in the order of a reader's questions: where the time goes first, what it rests on last."""
    record = run.record
    yield from state_sections(record.validity, on_two_hosts(run))
    for sections in part_functions("blocks", "observed_sections"):
        yield from sections(run)
    if not record.observed:
        yield from stage_sections(summary, record.accounting)
    yield from handler_sections(summary)
    yield from worker_section(run, summary)
    yield from latency_section(run, summary)
    for sections in part_functions("blocks", "sections"):
        yield from sections(summary)
    yield from phase_section(summary.phases)
    yield from variant_section(summary.variants)
    yield from port_section(run, summary)
    for sections in part_functions("blocks", "machine_sections"):
        yield from sections(run)
    yield from event_section(run)
    yield from monitor_sections(run.path)
    yield from value_section(record.imported)
    yield from crossing_section(run)
    yield from stage_details(summary)
    yield from drop_section(summary)
    yield from level_section(summary)


def _how(record: Record) -> list[str]:
    labels = [f"labels {label_words(record.labels)}"] if record.labels else []
    if record.imported:
        return [f"imported from {record.imported.tool}: {record.imported.file}", *labels]
    if observed := record.observed:
        return [f"process {observed.pid}: {observed.program}, DPDK {observed.dpdk or 'not known'}", *labels]
    how = [f"wire {record.wire}", f"memory {record.memory}", f"accounting {record.accounting}"]
    return [*how, *labels]


def _hosts(run: Run) -> list[str]:
    if not on_two_hosts(run):
        return []
    names = [f"{side} on {run.record.host[side].get('hostname')}" for side in SIDES]
    return [f"two hosts: {', '.join(names)}"]


def _headlines(summary: Summary) -> Headlines:
    """What parts moved, responses and their latency where there is a client, packets otherwise, and the cost of a packet at each
    endpoint."""
    numbers = [line for headlines in part_functions("blocks", "headlines") for line in headlines(summary)]
    if summary.workloads:
        responses = sum(row.responses for row in summary.workloads)
        numbers.append((fmt.rate(ratio(responses, summary.measured_s)), "responses"))
        if len(summary.workloads) == 1:
            times = summary.workloads[0].latency
            shown = [each for each in PERCENTILES if each.in_headline]
            numbers += [(fmt.duration(getattr(times, p.field)), f"{p.name} latency") for p in shown]
    else:
        for port in summary.ports:
            numbers.append((f"{fmt.number(port.rx_mpps, 2)} Mpps", f"{port.endpoint} received"))
            numbers.append((f"{fmt.number(port.tx_mpps, 2)} Mpps", f"{port.endpoint} sent"))
    for endpoint in dict.fromkeys(row.endpoint for row in summary.stages):
        steps = [row for row in summary.steps if row.endpoint == endpoint]
        cost = packet_ns([row for row in summary.stages if row.endpoint == endpoint], steps)
        if cost is not None and summary.counts_packets(endpoint):
            numbers.append((f"{cost:,.0f} ns", f"per packet, {endpoint}"))
        if any(step.traffic for step in steps):  # the measured rate is not the data plane's
            mpps = derived_mpps(summary.stages, summary.steps, summary.workers, endpoint)
            numbers.append((f"{fmt.number(mpps, 2)} Mpps", f"derived: {endpoint} without own traffic"))
    return Headlines(numbers)


def _host(run: Run) -> Section:
    """Of two hosts those of each, with its side."""
    record = run.record
    scenario = Fold("The scenario as resolved", [Listing(pretty(record.scenario))])
    sides = SIDES if on_two_hosts(run) else ()
    of_sides = [fact for side in sides for fact in host_facts(record.host[side], f" of the {side}")]
    return host_section(record.host, record.versions, [*of_sides, *_engine_facts(record)], [scenario])


def _engine_facts(record: Record) -> list[tuple[str, str]]:
    facts = []
    for engine in record.engines:
        of = f" of {engine.name}" if len(record.engines) > 1 else ""
        if hello := engine.hello:
            facts.append((f"TSC{of}", f"{fmt.number(hello.tsc_hz / 1e6)} MHz, {hello.tsc_source}"))
        if ready := engine.ready:
            cost = f"{fmt.number(ready.level_cost_ticks)} ticks per stage call, measured on an empty stage"
            facts.append((f"Accounting costs{of}", cost))
            facts.append((f"Drivers{of}", ", ".join(f"{side} {driver}" for side, driver in ready.drivers.items())))
        if result := engine.result:
            memory = (
                f"{fmt.size(result.peak_rss_bytes)} resident at most, {fmt.size(result.hugepage_bytes)} in hugepages"
            )
            facts.append((f"Memory of the engine{of}", memory))
    return facts


def _earlier(words: str) -> Section:
    return Section("Among earlier runs", [Sentence(words)])


def _made_from(record: Record) -> str:
    if not record.engines:
        return "Made from run.json beside this file, which holds every value. Metrics and their errors: the page “Metrics and validity” of the documentation."
    return "Made from run.json and windows.jsonl beside this file, which hold every counter. Metrics and their errors: the page “Metrics and validity” of the documentation."
