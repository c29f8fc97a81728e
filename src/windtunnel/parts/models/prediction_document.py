"""What a model predicts, as a document: a cost, latency at a load, or the rate of a run with other settings."""

from collections.abc import Iterator

from windtunnel.format import duration, number, percent, rate
from windtunnel.parts.models.capacity import Capacity
from windtunnel.parts.models.fit_document import state_words
from windtunnel.parts.models.predict import Prediction
from windtunnel.parts.models.requests import CostPrediction, Latency
from windtunnel.results.document import Block, Document, Marked, Sentence, Table, columns_of

_COSTS = {"table": "the table's step", "pipeline": "the whole server"}


def prediction_document(prediction: CostPrediction | Latency) -> Document:
    """What `windtunnel model predict` was asked for."""
    if isinstance(prediction, Latency):
        return _latency_document(prediction)
    return _cost_document(prediction.prediction)


def _cost_document(prediction: Prediction) -> Document:
    cores = f"{prediction.cores} core{'' if prediction.cores == 1 else 's'}"
    cost = f"{number(prediction.ns)} ns per packet  ({number(prediction.low)} to {number(prediction.high)})"
    rates = (
        ""
        if prediction.of == "table"
        else f", {number(prediction.mpps, 3)} Mpps  ({number(prediction.mpps_low, 3)} to {number(prediction.mpps_high, 3)})"
    )
    return Document(
        kind="prediction",
        title=f"predicted: {_COSTS.get(prediction.of, prediction.of)} on {cores}",
        notes=[state_words(prediction.state)],
        blocks=list(_marks(prediction.marks)),
        verdict=Sentence(Marked(f"{cost}{rates}", strong=True)),
    )


def _latency_document(prediction: Latency) -> Document:
    used = prediction.utilisation
    column = columns_of(list(prediction.ns))
    table = Table(
        [
            column("percentile", str, words=True),
            column("latency", lambda name: duration(prediction.ns[name])),
            column("mean error", lambda name: percent(prediction.errors[name])),
        ]
    )
    return Document(
        kind="prediction",
        title=f"predicted: latency at {rate(prediction.load)}",
        how=["capacity not identified" if used is None else f"{percent(used)} of the capacity"],
        notes=[state_words(prediction.state)],
        blocks=[*_marks(prediction.marks), table],
    )


def _marks(marks: list[str]) -> Iterator[Block]:
    """What has to be known of a prediction."""
    for mark in marks:
        yield Sentence(mark, tone="bad" if mark.startswith("EXTRAPOLATED") else "warning")


def capacity_document(capacity: Capacity) -> Document:
    """The rate with the change, and what it rests on."""
    change = capacity.per_s / capacity.run_per_s - 1 if capacity.run_per_s else 0.0
    interval = (
        "too few windows for an interval" if capacity.low is None else f"{rate(capacity.low)} to {rate(capacity.high)}"
    )
    predicted = f"predicted: {rate(capacity.per_s)} responses, {interval}; the run had {rate(capacity.run_per_s)}, so {change:+.1%}"
    return Document(
        kind="prediction",
        title=f"the run with {' '.join(capacity.sets)}" if capacity.sets else "the run as it was",
        blocks=[
            Sentence(f"limit: {capacity.limit}"),
            *(Sentence(f"not on the host of the run: {lack}", tone="warning") for lack in capacity.not_here),
            *(Sentence(f"assumed: {assumption}", tone="quiet") for assumption in capacity.assumptions),
        ],
        verdict=Sentence(Marked(predicted, strong=True)),
    )
