"""What the page shows, gathered from a run; the template in page.html decides how."""

import gzip
import json
from base64 import b64encode
from dataclasses import asdict, dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

from windtunnel import format as fmt
from windtunnel.engine.drops import DROPS
from windtunnel.measure.earlier import earlier, line
from windtunnel.pcie.measured import measured_with_run
from windtunnel.pcie.run_estimate import shown_ports, tightest
from windtunnel.runs.counters import event_rows
from windtunnel.runs.intervals import lines, percentile_rows
from windtunnel.runs.joined import SIDES, crossings, on_two_hosts
from windtunnel.runs.metrics import ratio
from windtunnel.runs.notices import notes_of, notices, warnings_of
from windtunnel.runs.path import derived_mpps, packet_ns
from windtunnel.runs.reader import Run
from windtunnel.runs.registry.percentiles import PERCENTILES
from windtunnel.runs.rows import StageRow
from windtunnel.runs.streams import STREAM_OBJECTS
from windtunnel.runs.summary import Summary, rejected_words, summarise
from windtunnel.views.metric_cells import reported, written
from windtunnel.views.pages import charts
from windtunnel.views.terminal.pcie import labels, rows_of

_HOST_LINES = (
    ("Host", "hostname"),
    ("System", "system"),
    ("Kernel", "kernel"),
    ("Processor", "cpus.model"),
    ("CPUs allowed", "cpus.allowed"),
    ("CPUs isolated", "cpus.isolated"),
    ("Virtual machine", "cpus.virtual"),
    ("Clock source", "cpus.tsc.clocksource"),
)


@dataclass(frozen=True)
class HeadlineNumber:
    """A number at the top of the page, with its unit, and what it is."""

    value: str
    label: str


def render(run: Run, plotly_file: str | None = None) -> str:
    """The page as HTML. Whatever came from a user or an engine is escaped by the template, and in plots by `charts`. `plotly_file`: as
    `filled` has it."""
    summary = summarise(run) if run.has_metrics else None
    told = notices(run, summary) if summary else []
    links = shown_ports(run) if summary else []
    before = earlier(run)
    return filled(
        "page.html",
        charts.all_of(run, summary, tightest(links)) if summary else {},
        run=run,
        record=run.record,
        rejected=sentence(rejected_words(run)) if run.rejected else None,
        stream_objects=sentence(STREAM_OBJECTS),
        summary=summary,
        warnings=warnings_of(told),
        notes=notes_of(told),
        earlier=sentence(line(before)) if before else None,
        headline=headline(summary) if summary and not run.record.imported else [],
        drops=_drops(summary) if summary else [],
        batches=[row for row in summary.stages if row.completion] if summary else [],
        pcie=[row for port in links for row in rows_of(port)],
        pcie_labels=labels(links),
        pcie_measured=asdict(counters) if (counters := measured_with_run(run.path)) else None,
        percentiles=[f"{words}." for words in lines(percentile_rows(run))] if summary else [],
        events=event_rows(run) if summary else [],
        crossings=crossings(run),
        host=_hosts(run),
        facts=pretty(run.record.host),
        scenario=pretty(run.record.scenario),
        plotly_file=plotly_file,
    )


PAGES = "windtunnel.views.pages"


def filled(
    template: str,
    plots: dict[str, dict[str, Any]],
    package: str = PAGES,
    plotly_file: str | None = None,
    **values: Any,
) -> str:
    """The template's own values in the frame that all pages share, with the plots by their places; `package` holds the template.
    `plotly_file`: where plotly.js is, relative to the page; None: in the page."""
    here = files(PAGES)
    return rendered(
        environment(package),
        template,
        charts=plots,
        css=(here / "page.css").read_text(encoding="utf-8"),
        js=(here / "page.js").read_text(encoding="utf-8"),
        plotly=_packed_plotly() if plots and plotly_file is None else "",
        plotly_file=plotly_file,
        **values,
    )


def rendered(templates: Environment, template: str, **values: Any) -> str:
    """The template with these values, as UTF-8 can have it: what is none, as the name of a file may be, is spelled out."""
    return templates.get_template(template).render(**values).encode(errors="backslashreplace").decode()


def plotly_js() -> bytes:
    """plotly.js with cartesian plots alone."""
    return (files(PAGES) / "plotly" / "plotly-cartesian.min.js").read_bytes()


@cache
def _packed_plotly() -> str:
    """As gzip in base64: a third of its size, which page.js unpacks."""
    return b64encode(gzip.compress(plotly_js(), mtime=0)).decode("ascii")


@cache
def environment(package: str = PAGES) -> Environment:
    """The templates of `package` and of this one, with the formats of `windtunnel.format` as filters. They are compiled once in a process:
    that takes a quarter of a second, and a study writes a page for each run."""
    made = Environment(
        loader=ChoiceLoader([PackageLoader(name, ".") for name in dict.fromkeys((package, PAGES))]),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    for name in ("number", "count", "percent", "duration", "rate", "size"):
        made.filters[name] = getattr(fmt, name)
    made.filters["written"] = written
    made.globals["reported"] = reported
    return made


def headline(summary: Summary) -> list[HeadlineNumber]:
    """What streams moved, responses and their latency where there is a client, packets otherwise, and the cost of a packet at each
    endpoint."""
    numbers = [
        HeadlineNumber(f"{row.gbps:,.2f} Gbit/s", row.workload) for row in summary.streams if row.gbps is not None
    ]
    if summary.workloads:
        responses = sum(row.responses for row in summary.workloads)
        numbers.append(HeadlineNumber(fmt.rate(ratio(responses, summary.measured_s)), "responses"))
        if len(summary.workloads) == 1:
            times = summary.workloads[0].latency
            shown = [each for each in PERCENTILES if each.in_headline]
            numbers += [HeadlineNumber(fmt.duration(getattr(times, p.field)), f"{p.name} latency") for p in shown]
    else:
        for port in summary.ports:
            numbers.append(HeadlineNumber(f"{fmt.number(port.rx_mpps, 2)} Mpps", f"{port.endpoint} received"))
            numbers.append(HeadlineNumber(f"{fmt.number(port.tx_mpps, 2)} Mpps", f"{port.endpoint} sent"))
    for endpoint in dict.fromkeys(row.endpoint for row in summary.stages):
        steps = [row for row in summary.steps if row.endpoint == endpoint]
        cost = packet_ns([row for row in summary.stages if row.endpoint == endpoint], steps)
        if cost is not None and not summary.has_stream(endpoint):
            numbers.append(HeadlineNumber(f"{cost:,.0f} ns", f"per packet, {endpoint}"))
        if any(step.traffic for step in steps):  # the measured rate is not the data plane's
            mpps = derived_mpps(summary.stages, summary.steps, summary.workers, endpoint)
            numbers.append(HeadlineNumber(f"{fmt.number(mpps, 2)} Mpps", f"derived: {endpoint} without own traffic"))
    return numbers


def _drops(summary: Summary) -> list[tuple[StageRow, str, int, str]]:
    """Each with its stage, its name, its packets, and why; a name of another release is not explained."""
    every = [(row, name, count) for row in summary.stages for name, count in (row.drops or {}).items()]
    return [(*drop, DROPS[drop[1]].words if drop[1] in DROPS else "–") for drop in every]


def sentence(words: str) -> str:
    return f"{words[0].upper()}{words[1:]}."


def _hosts(run: Run) -> list[tuple[str, str]]:
    """The host's lines; of two hosts those of each, with its side."""
    if not on_two_hosts(run):
        return host_lines(run.record.host)
    return [(f"{label} of the {side}", value) for side in SIDES for label, value in host_lines(run.record.host[side])]


def host_lines(host: dict[str, Any]) -> list[tuple[str, str]]:
    """The facts that a reader looks for first; a null is "not available", an absent fact is skipped."""
    lines = []
    for label, path in _HOST_LINES:
        value, present = _at(host, path)
        if present:
            lines.append((label, _words(value)))
    return lines


def pretty(document: dict[str, Any]) -> str:
    return json.dumps(document, indent=2, ensure_ascii=False)


def _at(facts: dict[str, Any], path: str) -> tuple[object, bool]:
    value: object = facts
    for key in path.split("."):
        if not isinstance(value, dict) or key not in value:
            return None, False
        value = value[key]
    return value, True


def _words(value: object) -> str:
    if value is None:
        return "not available"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    return str(value)
