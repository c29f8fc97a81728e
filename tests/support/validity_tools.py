"""Runs made of samples, as validity judges them."""

import sample_lines as sample

from windtunnel.engine.lines import Window
from windtunnel.measure.validity import validate
from windtunnel.runs.record import EngineRecord
from windtunnel.scenario.validity_keys import Validity as Limits

LIMITS = Limits()
SPAN = sample.WINDOW_NS


def finished(windows=10):
    """An engine of one sample plan with so many measured windows, as the engine would have written them."""
    of = sample.plan()
    lines = sample.engine_lines(of)
    by_type = {line.type: line for line in lines}
    engine = EngineRecord(
        name="windtunnel", plan=of, hello=by_type["hello"], ready=by_type["ready"], result=by_type["result"]
    )
    some = [line for line in lines if isinstance(line, Window)]
    before = [w for w in some if w.phase == "warmup"]
    (shape, *_) = [w for w in some if w.phase == "measure"]
    measured = [shape.model_copy(update={"index": len(before) + n}) for n in range(windows)]
    return engine, before + measured


def changed(window, worker=0, **what):
    workers = [w.model_copy(update=what) if w.worker == worker else w for w in window.workers]
    return window.model_copy(update={"workers": workers})


def rated(window, factor):
    """The same window with so many times the answers."""
    one = window.workloads[0]
    return window.model_copy(update={"workloads": [one.model_copy(update={"responses": int(one.responses * factor)})]})


def judged(engine, windows, limits=LIMITS, preempting=None):
    return validate([engine], {engine.name: windows}, limits, preempting=preempting)


def check(validity, name):
    (found,) = [c for c in validity.checks if c.name == name]
    return found


def measured_of(windows):
    return [w for w in windows if w.phase == "measure"]
