"""The runs of an experiment: a short one that says how long delays have to be, then one with all variants."""

from collections.abc import Sequence
from pathlib import Path

from windtunnel.diagnose.diagnose import diagnose
from windtunnel.diagnose.experiment import variants_for
from windtunnel.diagnose.observed import observe
from windtunnel.engine.interrupts import Interrupts
from windtunnel.engine.supervisor import Listener
from windtunnel.errors import UserError
from windtunnel.finding import Untold
from windtunnel.measure.execute import RunOutcome, execute
from windtunnel.measure.variants import execute_variants
from windtunnel.runs.writer import make_directory
from windtunnel.scenario import Scenario, here, load, resolve

FIRST, EXPERIMENT = "first", "experiment"
"""Directories of the two runs."""
FIRST_WINDOW_MS, FIRST_MS = 50, 1000
WINDOW_MS, EXPERIMENT_MS = 100, 20_000
ENDLESS = 2**62
"""Messages: more than any run has."""
LEAST_BLOCKS = 12
"""Of windows; an experiment with many variants lasts longer."""


def execute_experiment(
    file: Path, sets: Sequence[str], directory: Path, interrupts: Interrupts, listeners: Sequence[Listener] = ()
) -> RunOutcome:
    """Runs a scenario into `directory`/first and `directory`/experiment, whatever its own duration; the outcome is that of the run with the
    variants, or of the first one where that was interrupted or could not be kept.

    Raises UserError as `execute` does, and where the first run cannot say what to delay.
    """
    asked = load(file, list(sets))
    make_directory(directory)
    window = min(asked.window // 10**6 or 1, FIRST_WINDOW_MS)
    scenario = load(file, [*sets, *_length(asked, FIRST_MS, window)])
    first = execute(resolve(scenario, here()), directory / FIRST, interrupts, listeners)
    if first.interrupted or first.run is None:
        return first
    found, seen = diagnose(first.run), observe(first.run)
    if not found.workers:
        words = "; ".join(first.verdict.reasons) or "no call was timed"
        raise UserError(f"{file}: there is nothing to delay: {words}", remedy='accounting.level = "sampled", or above')
    try:
        variants = variants_for(found, seen, more_in_flight=_may_have_more(asked))
    except Untold as missing:
        raise UserError(f"{file}: there is nothing to delay: {missing}") from None
    window = min(asked.window // 10**6 or 1, WINDOW_MS)
    blocks = max(EXPERIMENT_MS // (window * (1 + len(variants))), LEAST_BLOCKS)
    length = blocks * (1 + len(variants)) * window
    scenario = load(file, [*sets, *_length(asked, length, window)])
    return execute_variants(scenario, variants, directory / EXPERIMENT, interrupts, listeners)


def _may_have_more(asked: Scenario) -> bool:
    """Whether more messages in flight can be tried: a closed loop, whose pools grow with them."""
    client, server = asked.client, asked.server
    if client is None or server is None or client.rate is not None or any(w.rate or w.phase for w in asked.workload):
        return False
    return client.mempool.size == "auto" and server.mempool.size == "auto"


def _length(asked: Scenario, duration_ms: int, window_ms: int) -> list[str]:
    """What makes a run as long as that, whatever else its scenario says of its end."""
    endless = [] if asked.messages is None else [f"messages={ENDLESS}"]
    return [f"duration={duration_ms}ms", f"window={window_ms}ms", *endless]
