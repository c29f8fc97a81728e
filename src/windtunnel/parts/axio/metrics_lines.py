"""axio.metrics/v1: the JSON lines that newer releases of Axio write, one a window.

Two forms carry the name (tests and README of Axio and PipeTune): a long one, with schema, identity and validity of each window, and a
compact one without. Both have the same stages; keys that are not read here are left out. A completion time has its stall in it, as in the
table of the log, whose fields it is printed from.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from statistics import fmean
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from windtunnel.exchange.source import Fault, Faults
from windtunnel.runs.metrics import TRAVEL
from windtunnel.runs.record import ForeignValue
from windtunnel.runs.rows import StageRow, only

SCHEMA = "axio.metrics/v1"
STAGES = {
    "app_tx": "app_tx", "app_rx": "app_rx", "dispatcher_tx": "disp_tx", "dispatcher_rx": "disp_rx", "nic_tx": "nic_tx", "nic_rx": "nic_rx",
}  # fmt: skip
"""Axio's names -> ours."""
REMEDY = f"a line of {SCHEMA} as Axio writes it"
Number = Annotated[float, Field(ge=0, le=1e15, allow_inf_nan=False)]
_NS_PER_US = 1000


def _encodable(text: str) -> str:
    """The text. Raises ValueError for half of a surrogate pair, which JSON can spell and no file hold."""
    text.encode()
    return text


Text = Annotated[str, AfterValidator(_encodable)]


class Part(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)


class Stage(Part):
    """Values that some stages have; null: not available."""

    throughput_mpps: Number | None = None
    completion_time_per_packet_us: Number | None = None
    stall_time_per_packet_us: Number | None = None
    submit_time_per_packet_us: Number | None = None
    completion_interval_ns: Number | None = None

    @property
    def whole_us(self) -> float | None:
        return (
            self.submit_time_per_packet_us
            if self.completion_time_per_packet_us is None
            else self.completion_time_per_packet_us
        )


class Throughput(Part):
    e2e_mpps: Number | None


class Latency(Part):
    p50_us: Number | None
    p99_us: Number | None
    p999_us: Number | None


class Identity(Part):
    role: Literal["client", "server"]


class Span(Part):
    measurement_valid: bool
    invalid_reasons: list[Text] = []


class AxioWindow(Part):
    """One line."""

    window_id: Annotated[int, Field(ge=0)]
    throughput: Throughput
    latency: Latency
    stages: dict[str, Stage]
    counters: dict[Text, Annotated[int, Field(ge=0, lt=1 << 64)]]
    identity: Identity | None = None
    window: Span | None = None

    @property
    def is_valid(self) -> bool:
        return self.window is None or self.window.measurement_valid


def is_metrics(text: str) -> bool:
    """Whether the first line that is not blank is a window of either form."""
    first = next((line for line in text.splitlines() if line.strip()), "")
    return first.lstrip().startswith("{") and ('"stages"' in first or SCHEMA in first)


def windows_of(text: str) -> tuple[list[AxioWindow], list[Fault]]:
    """All windows, and the faults of the lines."""
    windows: list[AxioWindow] = []
    windows_there: set[tuple[Identity | None, int]] = set()
    faults = Faults()
    for number, line in enumerate(text.splitlines(), start=1):
        try:
            document = json.loads(line)
            schema = document.get("schema", SCHEMA) if isinstance(document, dict) else None
            if schema != SCHEMA:
                faults.append(Fault(number, f"not a window of {SCHEMA}", REMEDY))
                continue
            window = AxioWindow.model_validate(document)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            faults.append(Fault(number, f"{'.'.join(map(str, first['loc']))}: {first['msg']}", REMEDY))
        except (ValueError, RecursionError):
            faults.append(Fault(number, "not JSON", REMEDY))
        else:
            if missing := [name for name in STAGES if name not in window.stages]:
                faults.append(Fault(number, f"stages: {', '.join(missing)} missing", REMEDY))
            if (numbered := (window.identity, window.window_id)) in windows_there:
                faults.append(
                    Fault(number, f"window_id {window.window_id} stands twice", "lines of one run, each once")
                )
            windows_there.add(numbered)
            windows.append(window)
    return windows, faults


def side_of(windows: Sequence[AxioWindow], option: str | None) -> tuple[str | None, list[Fault]]:
    """The side that the lines have, else that of the option; None if neither has one."""
    roles = {window.identity.role for window in windows if window.identity}
    if len(roles) > 1 or (option and roles and roles != {option}):
        return None, [
            Fault(1, f"the lines are of {' and '.join(sorted(roles))}", "one side, and --side as the lines have it")
        ]
    side = next(iter(roles), option)
    return side, [] if side else [
        Fault(1, "the lines do not say which side wrote them", "--side client, or --side server")
    ]


def stage_rows(side: str, windows: Sequence[AxioWindow]) -> list[StageRow]:
    """The stages over all windows that are valid, each weighted by its packets."""
    rows = {
        ours: _row(side, ours, [(w.stages[theirs], w.throughput.e2e_mpps) for w in windows])
        for theirs, ours in STAGES.items()
    }
    measured = {name: row for name, row in rows.items() if row != only(StageRow, endpoint=side, stage=name)}
    return [measured[name] for name in TRAVEL[side] if name in measured]


def _row(side: str, name: str, stages: Sequence[tuple[Stage, float | None]]) -> StageRow:
    def mean(value_of: Callable[[Stage], float | None]) -> float | None:
        weighted = [
            (value, 1.0 if mpps is None else mpps) for stage, mpps in stages if (value := value_of(stage)) is not None
        ]
        weight = sum(mpps for _, mpps in weighted)
        return sum(value * mpps for value, mpps in weighted) / weight if weight else None

    rates = [stage.throughput_mpps for stage, _ in stages if stage.throughput_mpps is not None]
    interval = mean(lambda stage: stage.completion_interval_ns)
    whole, stall = mean(lambda stage: stage.whole_us), mean(lambda stage: stage.stall_time_per_packet_us)
    work = interval if whole is None else None if (stall or 0.0) > whole else (whole - (stall or 0.0)) * _NS_PER_US
    return only(
        StageRow,
        endpoint=side,
        stage=name,
        mpps=fmean(rates) if rates else None,
        work_ns=work,
        stall_ns=None if stall is None else stall * _NS_PER_US,
    )


def values(side: str, windows: Sequence[AxioWindow]) -> list[ForeignValue]:
    """Values that no row can hold. Percentiles of windows do not add up, so the lowest and the highest are returned."""
    ends = [w.throughput.e2e_mpps for w in windows if w.throughput.e2e_mpps is not None]
    foreign_values = [ForeignValue(of=side, name="windows", value=len(windows), unit="windows")]
    foreign_values += [ForeignValue(of=side, name="End-to-end", value=fmean(ends), unit="Mpps")] if ends else []
    for name in Latency.model_fields:
        quantiles: list[float] = [value for w in windows if (value := getattr(w.latency, name)) is not None]
        for word, extreme in (("lowest", min), ("highest", max)) if quantiles else ():
            foreign_values.append(
                ForeignValue(of=side, name=f"{name.removesuffix('_us')}, {word}", value=extreme(quantiles), unit="us")
            )
    totals: Counter[str] = Counter()
    for window in windows:
        totals.update(window.counters)
    return foreign_values + [ForeignValue(of=side, name=name, value=total, unit="") for name, total in totals.items()]


def notes(every: Sequence[AxioWindow], used: Sequence[AxioWindow]) -> list[str]:
    """Notes for the reader of the values."""
    longer = [
        ours for theirs, ours in STAGES.items()
        if any((w.stages[theirs].stall_time_per_packet_us or 0) > (w.stages[theirs].whole_us or 0) for w in used)
    ]  # fmt: skip
    sentences = (
        [
            f"{', '.join(longer)}: a stall that is longer than the completion time that holds it, so the work is not known"
        ]
        if longer
        else []
    )
    sentences.append("nic_rx: Axio's time is the interval between two packets of a queue, not the work on one")
    if left_out := len(every) - len(used):
        reasons: Iterable[str] = dict.fromkeys(reason for w in every if w.window for reason in w.window.invalid_reasons)
        sentences.append(
            f"{left_out} of {len(every)} windows are left out, which Axio calls invalid: {', '.join(reasons)}"
        )
    return sentences
