"""What the commands of `windtunnel share` show, as documents: an advice, simulations, a probe, tenants, and findings."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from windtunnel.api.documents import Block, Document, Marked, Section, Sentence, Table, columns_of
from windtunnel.api.documents import format as fmt
from windtunnel.api.errors import Finding

if TYPE_CHECKING:  # they import numpy, and `share list` does not need them
    from windtunnel_sharing.advise import Advice, Check, Choice
    from windtunnel_sharing.costs import Choice as Picked
    from windtunnel_sharing.probe import Measured, Probe

MOST_TENANTS = 24
"""Rows of a table of simulated tenants."""
MOST_NAMED = 3
"""Tenants that are named with a finding; further ones are counted."""
MOST_LEFT = 0.01
"""Share of the requests above which a p99 misleads."""


def advice_document(advice: "Advice", slicer: str, check: "Check | None") -> Document:
    """The advice with its p99 and cost, and the alternatives. `check`: what a run of one of its cores measured."""
    from windtunnel_sharing.advise import SIMULATED

    wanted = f"p99 <= {fmt.duration(advice.slo.p99_ns)} for {advice.tenants} tenants"
    choices = [one for one in (advice.chosen, advice.nearest, advice.instead, *advice.others) if one]
    chosen = advice.chosen
    verdict = (
        Sentence(f"{wanted}: ", Marked(_choice_words(chosen), "good", strong=True))
        if chosen
        else Sentence(Marked(f"{wanted}: no requested setting meets it", "bad", strong=True))
    )
    return Document(
        kind="advice",
        title=wanted,
        blocks=[
            *([_choice_table(choices)] if choices else []),
            *_alternatives(advice),
            Sentence(advice.source, tone="warning" if advice.source == SIMULATED else "quiet"),
            *([_check_sentence(check, slicer, advice.slo.p99_ns)] if check else []),
        ],
        verdict=verdict,
    )


def _alternatives(advice: "Advice") -> Iterator[Sentence]:
    if advice.nearest:
        p99 = fmt.duration(advice.nearest.estimate.p99_ns)
        yield Sentence(f"nearest: {_choice_words(advice.nearest)}, which gives {p99}")
    elif not advice.chosen:
        yield Sentence("overload: these cores cannot carry the load with any slice")
    if advice.instead:
        yield Sentence(f"meets it: {_choice_words(advice.instead)}")
    elif not advice.chosen:
        yield Sentence(
            "even one core for each tenant does not meet it: use a looser SLO, a lower load, or cheaper requests"
        )


def _check_sentence(check: "Check", slicer: str, slo_ns: float) -> Sentence:
    meets = "meets" if check.p99_ns <= slo_ns else "misses"
    interval = f"[{fmt.duration(check.low_ns)} .. {fmt.duration(check.high_ns)}]"
    return Sentence(
        f"measured on CPU {check.cpu}, {slicer}: p99 {fmt.duration(check.p99_ns)} {interval}, {fmt.percent(check.lost)} lost: it {meets} the SLO"
    )


def _choice_words(choice: "Choice") -> str:
    cores = f"{choice.cores} core{'' if choice.cores == 1 else 's'}"
    if choice.per_core == 1:
        return f"{cores}, one for each tenant"
    return f"slice {fmt.duration(choice.slice_ns)} on {cores}, weight {choice.weight} each"


def _choice_table(choices: "Sequence[Choice]") -> Table:
    column = columns_of(choices)
    return Table(
        [
            column("cores", lambda c: str(c.cores)),
            column("tenants a core", lambda c: str(c.per_core)),
            column("weight", lambda c: str(c.weight)),
            column("slice", lambda c: fmt.duration(c.slice_ns) if c.per_core > 1 else fmt.DASH),
            column("p99", lambda c: fmt.duration(c.estimate.p99_ns)),
            column("up to", lambda c: fmt.duration(c.estimate.high_ns)),
            column("lost", lambda c: fmt.percent(c.estimate.lost)),
            column("SLO", lambda c: "met" if c.met else "missed"),
        ]
    )


def simulation_document(variants: Mapping[str, dict[str, Any]]) -> Document:
    """Each variant: its tenants, its phases if there are several, and the use of the cores' time."""
    return Document(
        kind="simulation",
        title="Simulated tenants",
        blocks=[_variant_section(name, variant) for name, variant in variants.items()],
        verdict=Sentence("simulated, not measured", tone="warning"),
    )


def _variant_section(name: str, variant: dict[str, Any]) -> Section:
    cores = f"{variant['cores']} core{'' if variant['cores'] == 1 else 's'}"
    slice_ = fmt.duration(variant["slice_ns"])
    head = f"{variant['policy']}, slice {slice_}, {cores}, {fmt.duration(variant['duration_ns'])}"
    blocks: list[Block] = [_simulated_table(variant)]
    blocks += [_phase_table(variant["phases"])] if len(variant["phases"]) > 1 else []
    blocks.append(Sentence(_core_words(variant["core_time"]), tone="quiet"))
    if (overload := overload_words(variant["all"])) is not None:
        blocks.append(Sentence(overload, tone="warning"))
    return Section(f"{name}: {head}" if name else head, blocks, terminal="titled")


def _simulated_table(variant: dict[str, Any]) -> Table:
    rows = variant["tenants"]
    left = len(rows) - MOST_TENANTS
    rows = [*rows[:MOST_TENANTS], variant["all"] | {"name": f"all, {left} more" if left > 0 else "all"}]
    column = columns_of(rows)

    def value(key: str, show: Callable[[Any], str]) -> Callable[[dict[str, Any]], str]:
        return lambda row: show(row.get(key))

    return Table(
        [
            column("tenant", lambda row: row["name"], words=True),
            column("weight", value("weight", fmt.count), spare=4),
            column("share", value("share", fmt.percent)),
            column("due", value("entitled", fmt.percent), spare=3),
            column("CPUs", value("cpus", lambda cpus: fmt.number(cpus, 2)), spare=5),
            column("p50", value("p50", fmt.duration)),
            column("p99", value("p99", fmt.duration)),
            column("p99.9", value("p999", fmt.duration), spare=2),
            column("wait p99", value("wait_p99", fmt.duration), spare=6),
            column("served", value("served_per_s", fmt.rate)),
            column("dropped", value("dropped", fmt.count), spare=1),
            column("slice p50", value("slice_p50_ns", fmt.duration), spare=7),
            column("gap p99", value("gap_p99_ns", fmt.duration), spare=8),
        ],
        [len(rows) - 1],
    )


def _phase_table(rows: Sequence[dict[str, Any]]) -> Table:
    column = columns_of(rows)
    return Table(
        [
            column("from", lambda row: fmt.duration(row["from_ns"])),
            column("served", lambda row: fmt.rate(row["served_per_s"])),
            column("p50", lambda row: fmt.duration(row["p50"])),
            column("p99", lambda row: fmt.duration(row["p99"])),
            column("batch CPUs", lambda row: fmt.number(row["batch_cpus"], 2)),
        ]
    )


def overload_words(of_all: dict[str, Any]) -> str | None:
    """A warning if so many requests are not done that percentiles of the others mislead; else None."""
    left = of_all["waiting"] + of_all["dropped"]
    if left <= MOST_LEFT * of_all["arrived"]:
        return None
    return f"overload: {fmt.count(left)} of {fmt.count(of_all['arrived'])} requests were dropped or waiting at the end; percentiles do not include them"


def _core_words(shares: dict[str, float]) -> str:
    uses = {
        "useful": "useful",
        "refilled": "refilling caches",
        "switching": "switching",
        "steal": "steal",
        "idle": "idle",
    }
    return "cores: " + ", ".join(f"{fmt.percent(shares[key])} {use}" for key, use in uses.items() if shares[key])


def probe_document(probe: "Probe", picked: "Picked | None", max_loss: float) -> Document:
    """The measurements of each slicer, and which one is picked."""
    lines = [
        Sentence(Marked(one.name, strong=True), f": {line}")
        for one in probe.measured
        for line in ([f"not available: {one.missing}"] if one.missing else []) + [*one.warnings]
    ]
    excluded = [one.name for one in probe.measured if one.excluded]
    return Document(
        kind="probe",
        title=f"{probe.tenants} polling tenants on CPU {probe.cpu}, slices of {probe.slice_ns / 1e3:g} us, {probe.rounds} times "
        f"{probe.seconds:g} s each",
        blocks=[
            _probe_table([one for one in probe.measured if not one.missing]),
            *lines,
            *findings_sections([(one.name, finding) for one in probe.measured for finding in one.findings]),
        ],
        warnings=[f"other threads ran on the core: {', '.join(excluded)} excluded; probe again when the host is idle"]
        if excluded
        else [],
        verdict=_picked_sentence(probe, picked, max_loss),
    )


def _picked_sentence(probe: "Probe", picked: "Picked | None", max_loss: float) -> Sentence:
    if picked is None:
        return Sentence("picked: none, nothing was measured")
    over = "" if picked.loss <= max_loss else f", more than {max_loss:.0%}: no slicer keeps it"
    return Sentence(
        "picked: ",
        Marked(picked.name, strong=True),
        f", slices of {picked.slice_ns / 1e3:g} us: {probe.tenants} tenants have a p99 of {picked.p99_us:.0f} us and lose "
        f"{picked.loss:.1%}{over}",
    )


def _probe_table(rows: "Sequence[Measured]") -> Table:
    column = columns_of(rows)
    return Table(
        [
            column("slicer", lambda m: m.name),
            column("slice p50", lambda m: _time(m.slice_p50_us), spare=2),
            column("p99", lambda m: _time(m.slice_p99_us), spare=3),
            column("latency p50", lambda m: _time(m.latency_p50_us), spare=4),
            column("p99", lambda m: _time(m.latency_p99_us)),
            column("throughput", lambda m: fmt.percent(m.throughput), spare=1),
            column("loss", lambda m: fmt.percent(m.loss)),
            column("a turn", lambda m: _time(m.turn_us, fmt.DASH)),
            column("share off", lambda m: fmt.percent(m.off_points), spare=5),
            column("late p99", lambda m: _time(m.late_p99_us, fmt.DASH), spare=6),
        ]
    )


def _time(us: float | None, none: str = "too few") -> str:
    return none if us is None else fmt.duration(us * 1000)


def tenants_document(
    pools: dict[str, Any], tenants: Sequence[dict[str, Any]], findings: Sequence[tuple[str, Finding]]
) -> Document:
    """The pools with their slicer and free weight, their tenants, and a diagnosis of each CPU."""
    return Document(
        kind="share list",
        title="Shared CPUs and their tenants",
        blocks=[Sentence(_pool_words(pools), unwrapped=True), _tenant_table(tenants), *findings_sections(findings)],
    )


def _pool_words(pools: dict[str, Any]) -> str:
    cpus = {pool: ",".join(map(str, pools[pool])) or "none" for pool in ("ls", "be")}
    full = f", CPUs above 256: {', '.join(pools['overfull'])}" if pools["overfull"] else ""
    return (
        f"ls {cpus['ls']}  be {cpus['be']}  slicer {pools['slicer']} {fmt.duration(pools['slice_ns'])}  "
        f"weight {pools['weight']}, room for {pools['room']}{full}  shield {pools['shield']}"
    )


def _tenant_table(tenants: Sequence[dict[str, Any]]) -> Table:
    column = columns_of(tenants)

    def cpus(key: str) -> Callable[[dict[str, Any]], str]:
        return lambda t: f"{t[key]:.3f}" if t["pool"] == "ls" and not t["parked"] else fmt.DASH

    return Table(
        [
            column("#", lambda t: str(t["number"])),
            column("tenant", lambda t: t["name"], words=True),
            column("pool", lambda t: "be (parked)" if t["parked"] else t["pool"], words=True),
            column("weight", lambda t: str(t["weight"])),
            column("CPUs", lambda t: ",".join(map(str, t["cpus"])) or fmt.DASH, words=True),
            column("promised", cpus("promised"), spare=2),
            column("entitled", cpus("entitled")),
            column("p99", lambda t: fmt.duration((t["told"] or {}).get("p99_ns"))),
            column("SLO", lambda t: fmt.duration(t["slo_p99_ns"])),
            column("pid", lambda t: str(t["pid"] or fmt.DASH), spare=1),
            column("threads", lambda t: str(len(t["threads"])), spare=3),
        ]
    )


def findings_sections(
    findings: Sequence[tuple[str, Finding]], seen_in: Callable[[str], str] = lambda code: ""
) -> Iterator[Section]:
    """A section for each finding, with the evidence of the first tenants or cores that have it, and each remedy once. `seen_in`: what is to be
    said of a finding's code beside its title."""
    for code in dict.fromkeys(finding.code for _, finding in findings):
        by_subject: dict[str, Finding] = {}
        for subject, finding in findings:
            if finding.code == code:
                by_subject.setdefault(subject, finding)
        title = f"{code}: {next(iter(by_subject.values())).title}{seen_in(code)}"
        yield Section(title, list(_finding_sentences(by_subject)), terminal="titled")


def _finding_sentences(by_subject: Mapping[str, Finding]) -> Iterator[Sentence]:
    for subject, finding in list(by_subject.items())[:MOST_NAMED]:
        yield Sentence(f"  {subject}: {finding.evidence}")
    if len(by_subject) > MOST_NAMED:
        yield Sentence(f"  and {len(by_subject) - MOST_NAMED} more like these")
    remedies = dict.fromkeys(finding.remedy for finding in by_subject.values())
    for remedy in remedies:
        subjects = [subject for subject, finding in by_subject.items() if finding.remedy == remedy]
        more = f" and {len(subjects) - MOST_NAMED} more" if len(subjects) > MOST_NAMED else ""
        scope = f" for {', '.join(subjects[:MOST_NAMED])}{more}" if len(remedies) > 1 else ""
        yield Sentence(f"  remedy{scope}: {remedy}")
