"""The runs of a diagnosis: the scenario as it is, in short windows. An experiment has a short run that shows how long delays have to be,
then one with all variants. What no
variant can try then runs in turns with the file."""

from collections.abc import Sequence
from pathlib import Path

from windtunnel.engine.interrupts import Interrupts
from windtunnel.engine.supervisor import Listener
from windtunnel.errors import UserError
from windtunnel.finding import NotMeasured
from windtunnel.measure.execute import RunOutcome, execute
from windtunnel.measure.variants import execute_variants
from windtunnel.parts.diagnose.causes.payload import CAUSE as PAYLOAD
from windtunnel.parts.diagnose.causes.payload import fewer
from windtunnel.parts.diagnose.diagnose import diagnose
from windtunnel.parts.diagnose.experiment import values_within_a_run, variants_for
from windtunnel.parts.diagnose.observation import observe
from windtunnel.parts.diagnose.turns import DIRECTORY as TURNS
from windtunnel.parts.diagnose.turns import execute_in_turns
from windtunnel.runs import Run
from windtunnel.runs.directories import make_directory
from windtunnel.scenario import Scenario, here, load, resolve

FIRST, EXPERIMENT = "first", "experiment"
"""Directories of the two runs."""
MOST_WINDOW_MS = 50
"""More windows of the same time tell more: workers are compared in pairs of them."""
FIRST_MS = 1000
WINDOW_MS, EXPERIMENT_MS = 100, 20_000
MS = 10**6
ENDLESS = 2**62
"""Messages: more than any run has."""
MOST_TURNS = 3
"""Remedies that run in turns with the file: each takes some 4 s."""
LEAST_BLOCKS = 12
"""Blocks of windows; an experiment with many variants lasts longer."""


def load_in_short_windows(file: Path, sets: Sequence[str]) -> Scenario:
    """The scenario of a file with `sets`, each of its windows divided evenly into windows of at most MOST_WINDOW_MS. Raises UserError."""
    scenario = load(file, list(sets))
    parts = -(-scenario.window // (MOST_WINDOW_MS * MS))
    return scenario if parts == 1 else load(file, [*sets, f"window={scenario.window // parts}ns"])


def execute_experiment(
    file: Path, sets: Sequence[str], directory: Path, interrupts: Interrupts, listeners: Sequence[Listener] = ()
) -> RunOutcome:
    """Runs a scenario into `directory`/first and `directory`/experiment, whatever its own duration; the outcome is that of the run with the
    variants, or of the first one if that was interrupted or could not be kept.

    Raises UserError as `execute` does, and if the first run does not show what to delay.
    """
    base = load(file, list(sets))
    make_directory(directory)
    window = min(base.window // MS or 1, MOST_WINDOW_MS)
    scenario = load(file, [*sets, *_length(base, FIRST_MS, window)])
    first = execute(resolve(scenario, here()), directory / FIRST, interrupts, listeners)
    if first.interrupted or first.run is None:
        return first
    diagnosis, observation = diagnose(first.run), observe(first.run)
    if not diagnosis.workers:
        reason = "; ".join(first.verdict.reasons) or "no call was timed"
        raise UserError(f"{file}: there is nothing to delay: {reason}", remedy='accounting.level = "sampled", or above')
    try:
        variants = variants_for(diagnosis, observation, more_in_flight=_may_have_more(base))
    except NotMeasured as missing:
        raise UserError(f"{file}: there is nothing to delay: {missing}") from None
    window = min(base.window // MS or 1, WINDOW_MS)
    blocks = max(EXPERIMENT_MS // (window * (1 + len(variants))), LEAST_BLOCKS)
    length = blocks * (1 + len(variants)) * window
    scenario = load(file, [*sets, *_length(base, length, window)])
    ended = execute_variants(scenario, variants, directory / EXPERIMENT, interrupts, listeners)
    if ended.run is not None and not ended.interrupted:
        execute_in_turns(file, sets, for_turns(ended.run), directory / TURNS, interrupts, listeners)
    return ended


def for_turns(run: Run) -> dict[str, Sequence[str]]:
    """The remedies to run in turns with the file, by their causes: those of the first causes that no variant could try, and half the bytes of
    long messages."""
    diagnosis = diagnose(run)
    remedies: dict[str, Sequence[str]] = {
        cause.code: cause.sets
        for cause in diagnosis.causes
        if cause.sets and not values_within_a_run(cause.sets) and not all(map(_is_of_judgement, cause.sets))
    }
    if half := fewer(observe(run)):
        remedies.setdefault(PAYLOAD.code, half)
    return dict(list(remedies.items())[:MOST_TURNS])


def _is_of_judgement(change: str) -> bool:
    """Whether a change leaves the run as it is, and judges it otherwise."""
    return change.startswith("validity.")


def _may_have_more(scenario: Scenario) -> bool:
    """Whether more messages in flight can be tried: a closed loop, whose pools grow with them."""
    client, server = scenario.client, scenario.server
    if client is None or server is None or client.rate is not None or any(w.rate or w.phase for w in scenario.workload):
        return False
    return client.mempool.size == "auto" and server.mempool.size == "auto"


def _length(scenario: Scenario, duration_ms: int, window_ms: int) -> list[str]:
    """The changes that make a run as long as that, whatever else its scenario says about its end."""
    endless = [] if scenario.messages is None else [f"messages={ENDLESS}"]
    return [f"duration={duration_ms}ms", f"window={window_ms}ms", *endless]
