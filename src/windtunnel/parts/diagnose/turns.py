"""Remedies that need a new start: each runs in turns with the file, window by window, so that the host is the same for both."""

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np

from windtunnel.engine.interrupts import Interrupts
from windtunnel.engine.supervisor import Listener
from windtunnel.errors import UserError
from windtunnel.host import facts
from windtunnel.measure.executor import in_turns
from windtunnel.parts.diagnose.blocks import Series, counted_windows, gain_of
from windtunnel.parts.diagnose.model import Remedy
from windtunnel.runs import Run, load
from windtunnel.runs.variants import messages
from windtunnel.scenario import here, resolve
from windtunnel.scenario import load as load_scenario

DIRECTORY = "turns"
"""Beside the run of an experiment; in it a directory of two runs for each cause."""
LENGTH = ("duration=1200ms", "warmup=150ms", "window=50ms", "validity.settle=0s")
CHANGE = "change"
"""The label that has the remedy as words of --set."""
SIDES = ("a", "b")
CODE = re.compile(r"[a-z][a-z0-9-]{0,60}")
"""Of a cause."""


def execute_in_turns(
    file: Path,
    sets: Sequence[str],
    remedies: Mapping[str, Sequence[str]],
    directory: Path,
    interrupts: Interrupts,
    listeners: Sequence[Listener] = (),
) -> None:
    """Runs each remedy, by the code of its cause, in turns with the file. One that the scenario refuses is left out, as are all after an
    interrupt."""
    host = facts.collect()
    for code, change in remedies.items():
        if interrupts.count:
            return
        try:
            specs = [resolve(load_scenario(file, [*sets, *LENGTH, *changed]), here()) for changed in ((), change)]
        except UserError:
            continue
        labelled = [replace(spec, labels={CHANGE: shlex.join(change)}) for spec in specs]
        places = [directory / code / side for side in SIDES]
        in_turns(labelled, places, Random(code).randrange(2), interrupts, listeners, host)


def remedies_in_turns(run: Run) -> list[Remedy]:
    """What the remedies beside the run of an experiment brought, by cause; without those whose runs were cut short, or are no such pair."""
    remedies = []
    for directory in sorted((run.path.parent / DIRECTORY).glob("*")):
        if not CODE.fullmatch(directory.name):
            continue
        try:
            a, b = (load(directory / side) for side in SIDES)
            change = shlex.split(b.record.labels.get(CHANGE, ""))
        except (UserError, ValueError):
            continue
        ns = _blocks(a, b)
        if len(ns):
            remedies.append(Remedy(code=directory.name, sets=change, gain=gain_of(ns)))
    return remedies


def _blocks(a: Run, b: Run) -> Series:
    """ns per message of pairs of windows that count in both runs."""
    costs_a, costs_b = (_costs(run) for run in (a, b))
    return np.array([(costs_a[place], costs_b[place]) for place in sorted(costs_a.keys() & costs_b.keys())])


def _costs(run: Run) -> dict[int, float]:
    """Place of a measured window -> ns per message."""
    engine = next((e.name for e in run.record.engines if any(map(messages, run.windows[e.name]))), None)
    if engine is None:
        return {}
    return {
        place: (window.end_ns - window.start_ns) / count
        for place, window in counted_windows(run, engine)
        if (count := messages(window))
    }
