"""The winner, measured again against the user's file, and written as a scenario if it is not slower."""

from collections.abc import Callable, Sequence
from math import expm1
from pathlib import Path
from typing import Any

from windtunnel.errors import UserError
from windtunnel.exchange.toml_text import text_of
from windtunnel.measure.study.directory import ABORTED, abort
from windtunnel.parts.tune.goal import Goal
from windtunnel.parts.tune.rig import Rig
from windtunnel.parts.tune.space import Space
from windtunnel.parts.tune.trial import Candidate, Incumbent, Trial, heed, pair_record
from windtunnel.parts.tune.tuning_record import FINAL, FinalRecord, PairRecord, TrialRecord, read_final
from windtunnel.runs.files import replace
from windtunnel.scenario import resolve
from windtunnel.scenario.load import parsed, scenario_of
from windtunnel.scenario.overrides import apply, parse_overrides
from windtunnel.stats.differences import paired
from windtunnel.text_file import MOST_RECORD_BYTES, read_regular

NAME = "best.toml"
PAIRS = 15
MOST_PAIRS = 2 * PAIRS
NOT_SLOWER = 0.01
"""Share by which the lower end of the interval may lie below the file's throughput: "not slower" must be shown, and no number of pairs
shows a difference of exactly 0."""


def confirm(
    directory: Path, space: Space, goal: Goal, best: TrialRecord, rig: Rig, begins: Callable[[int], None]
) -> FinalRecord:
    """Measures the winner against the file, or reads what was measured before, and writes best.toml if it is confirmed: also if it was
    written before, because its content may have changed since.

    Raises UserError if it cannot be kept, and `trial.Interrupted`.
    """
    place = directory / f"final-{best.number:03}"
    if (place / FINAL).exists():
        final = read_final(place)
        if final.confirmed:
            _write(directory, place, space, best, final)
        return final
    if place.exists():
        abort(directory, place)
    begins(best.number)
    place.mkdir()
    final = _measured(place, goal, best, rig)
    if final.confirmed:
        _write(directory, place, space, best, final)
    replace(place / FINAL, final.model_dump_json(indent=1) + "\n")
    return final


def _measured(place: Path, goal: Goal, best: TrialRecord, rig: Rig) -> FinalRecord:
    candidate = Candidate(None, tuple(best.sets), best.words, best.why, None, best.workers)
    trial = Trial(best.number, candidate, Incumbent(), goal, rig, place, [])
    latency = trial.measure_latency() if goal.latency else None
    reasons = list(trial.reasons)
    pairs: list[PairRecord] = []
    if goal.pairs and not reasons:
        pairs = _pairs(place, best.sets, rig)
    counted_pairs = [(p.incumbent, p.candidate) for p in pairs if p.excluded is None and p.incumbent and p.candidate]
    estimate = (
        paired([a for a, _ in counted_pairs], [b for _, b in counted_pairs])
        if len(counted_pairs) >= PAIRS // 2
        else None
    )
    if goal.pairs and not reasons:
        if estimate is None:
            reasons.append(f"{len(counted_pairs)} of {len(pairs)} pairs count: too few to tell whether it is slower")
        elif expm1(estimate.low) < -NOT_SLOWER:
            reasons.append(
                f"it may be slower than the file: {interval_text(expm1(estimate.difference), expm1(estimate.low), expm1(estimate.high))}"
            )
    if latency is not None and latency.met is False and not reasons:
        reasons.append("the SLO is not met")
    return FinalRecord(
        trial=best.number,
        pairs=pairs,
        difference=expm1(estimate.difference) if estimate else None,
        low=expm1(estimate.low) if estimate else None,
        high=expm1(estimate.high) if estimate else None,
        latency=latency,
        confirmed=not reasons,
        reasons=reasons,
    )


def _pairs(place: Path, sets: Sequence[str], rig: Rig) -> list[PairRecord]:
    pairs: list[PairRecord] = []
    while len(pairs) < MOST_PAIRS and sum(pair.excluded is None for pair in pairs) < PAIRS:
        measured_pair = rig.pair((), sets, place, len(pairs) + 1)
        heed(*measured_pair)
        pairs.append(pair_record(*measured_pair))
    return pairs


def interval_text(difference: float, low: float, high: float) -> str:
    """A difference with its interval, as in "+5.2% [+1.0% .. +9.5%]"."""
    return f"{difference:+.1%} [{low:+.1%} .. {high:+.1%}]"


def _write(directory: Path, place: Path, space: Space, best: TrialRecord, final: FinalRecord) -> None:
    """best.toml, beside the measurement and then in the directory of the tuning, in which it replaces only an earlier winner's. It
    is loaded and planned once before it is kept. Raises UserError if there is another file of this name, or it cannot be written."""
    path, earlier = directory / NAME, (f"final-*/{NAME}", f"{ABORTED}/final-*/{NAME}")
    own_contents = [_content(file) for pattern in earlier for file in directory.glob(pattern)]
    text = scenario_text(space, best, final)
    replace(place / NAME, text)
    resolve(scenario_of(place / NAME, text), space.host)  # another file may lie there by now
    if path.exists() and _content(path) not in [*own_contents, text.encode()]:
        raise UserError(f"{path}: exists already", remedy="move it away, and begin again with the same --out")
    replace(path, text)


def _content(file: Path) -> bytes:
    return read_regular(file, MOST_RECORD_BYTES)


def scenario_text(space: Space, best: TrialRecord, final: FinalRecord) -> str:
    """The user's file with what was measured: --set of the command line, [set] of the space, and the winner's settings. Paths are made
    absolute, because the scenario stands in another directory."""
    source = space.scenario(best.sets).source
    data = parsed(source.file, source.text)
    for override in parse_overrides([*space.common, *best.sets]):
        apply(override, data)
    question = space.plain.question or "Which settings are the best that were found?"
    notes = [
        f"made by `windtunnel tune` from {space.file.name}; its comments are not kept",
        f"changed by the tuner (trial {best.number}): {', '.join(best.sets) or 'nothing'}",
    ]
    if space.common:
        notes.append(f"set for every trial: {', '.join(space.common)}")
    if final.difference is not None and final.low is not None and final.high is not None:
        notes.append(
            f"throughput against that file, measured again in turns: {interval_text(final.difference, final.low, final.high)}"
        )
    return text_of(question, notes, _absolute(data, space.file.absolute().parent))


def _absolute(value: Any, base: Path) -> Any:
    """The value, with every text that names a file relative to the scenario's made absolute. A bare word is no path: it names a handler."""
    if isinstance(value, dict):
        return {key: child if key == "title" else _absolute(child, base) for key, child in value.items()}
    if isinstance(value, list):
        return [_absolute(child, base) for child in value]
    if not isinstance(value, str) or not ("/" in value or "." in value) or Path(value).is_absolute():
        return value
    return str((base / value).resolve()) if _is_file(base / value) else value


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # a text that cannot be a name
        return False
