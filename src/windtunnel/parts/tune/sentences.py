"""What a tuning says of its trials and of its winner, in sentences."""

from math import expm1

from windtunnel.format import DASH, duration
from windtunnel.parts.tune.tuner import Tuned
from windtunnel.parts.tune.tuning_record import LatencyRecord, TrialRecord, middle_of
from windtunnel.parts.tune.winner import NOT_SLOWER, interval_text


def outcome_words(trial: TrialRecord) -> str:
    """ "better: +5.2% [+1.0% .. +9.5%], 3 pairs"."""
    parts = []
    if trial.difference is not None:
        parts.append(f"{difference_words(trial)}, {_pairs(trial)}")
    if trial.latency is not None:
        parts.append(latency_words(trial.latency))
    parts += trial.reasons
    outcome = trial.failure or trial.outcome
    return f"{outcome}: {'; '.join(parts)}" if parts else outcome


def difference_words(trial: TrialRecord) -> str:
    """From the incumbent."""
    if trial.difference is None:
        return DASH
    if trial.low is None or trial.high is None:
        return f"{expm1(trial.difference):+.1%}"
    return interval_text(expm1(trial.difference), expm1(trial.low), expm1(trial.high))


def gain_words(trial: TrialRecord) -> str:
    """Over the file."""
    return DASH if trial.gain is None else f"{expm1(trial.gain):+.1%}"


def pairs_counted(trial: TrialRecord) -> int:
    return sum(pair.excluded is None for pair in trial.pairs)


def _pairs(trial: TrialRecord) -> str:
    counted = pairs_counted(trial)
    return "1 pair" if counted == 1 else f"{counted} pairs"


def latency_words(latency: LatencyRecord) -> str:
    """Median of the runs, and the upper end by which an SLO is judged."""
    middle = middle_of(latency)
    if middle is None:
        return "latency not bounded"
    bound = f", at most {duration(latency.high)}" if latency.high is not None else ""
    return f"{duration(middle)}{bound}"


def sentences(tuned: Tuned) -> list[str]:
    """What follows from the trials, the result first."""
    lines = []
    if not tuned.trials or len(tuned.failed) == len(tuned.trials):
        lines.append("There is no winner: no trial came to a result.")
    elif tuned.record.objective == "pareto":
        lines.append(
            f"{len(tuned.front)} settings are on the front: no other is better in one objective without losing in the other."
        )
    elif tuned.record.objective == "cores":
        lines.append(_cores(tuned))
    else:
        lines.append(_throughput(tuned))
    if tuned.failed:
        kinds = [trial.failure or "" for trial in tuned.failed]
        counts = ", ".join(f"{kinds.count(kind)} {kind}" for kind in dict.fromkeys(kinds))
        lines.append(f"{len(kinds)} of {len(tuned.trials)} trials failed and are not counted: {counts}.")
    if tuned.stopped == "space":
        lines.append("No other point of the space could be better: the budget was not used up.")
    return lines


def _throughput(tuned: Tuned) -> str:
    file = next((trial for trial in tuned.trials if trial.number == 0), None)
    slo = tuned.record.goal.slo
    if tuned.best is None:
        if file is not None and not file.meets and slo:
            return f"None of {tuned.counted} settings meets {tuned.record.goal.text}, and the file does not either."
        return f"None of {tuned.counted} settings was shown to be faster than the file."
    return f"Trial {tuned.best.number} is the best: {tuned.best.words}. {_final(tuned)}"


def _cores(tuned: Tuned) -> str:
    file = next((trial for trial in tuned.trials if trial.number == 0), None)
    goal = tuned.record.goal.text.removeprefix("cores, ")
    if tuned.best is not None:
        return f"{_cpus(tuned.best.workers)} are the fewest found that meet {goal}: {tuned.best.words}. {_final(tuned)}"
    if file is not None and file.meets:
        fewer = (
            f"none of {tuned.counted} settings with fewer does"
            if tuned.counted
            else "no setting that can run uses fewer"
        )
        return f"The file meets {goal} with {_cpus(tuned.file_workers)}, and {fewer}."
    return f"Nothing that was tried meets {goal}: neither the file nor {tuned.counted} other settings."


def _cpus(count: int) -> str:
    return "1 CPU" if count == 1 else f"{count} CPUs"


def _final(tuned: Tuned) -> str:
    final = tuned.final
    if final is None:
        return "It was not measured again."
    again = ""
    if final.difference is not None and final.low is not None and final.high is not None:
        again = f"Measured again against the file: {interval_text(final.difference, final.low, final.high)}. "
    if final.latency is not None:
        again += f"Latency: {latency_words(final.latency)}. "
    if not final.confirmed:
        return f"{again}It is not written: {'; '.join(final.reasons)}."
    if final.low is not None and final.low <= 0:
        return f"{again}It is not shown to be faster than the file, but it is at most {NOT_SLOWER:.0%} slower, so it is written."
    return f"{again}It is written."
