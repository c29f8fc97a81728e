"""Records of runs that were never run, from the sample lines of their engines."""

import sample_lines as sample

from windtunnel.engine.plan import Plan
from windtunnel.runs import EngineRecord, Record, Verdict


def engine_record(of: Plan) -> EngineRecord:
    """An engine that said of itself what the sample says."""
    said = {line.type: line for line in sample.engine_lines(of) if line.type in ("hello", "ready", "result")}
    return EngineRecord(name="windtunnel", plan=of, **said)


def record(engine: EngineRecord, **about) -> Record:
    """A valid run of this engine, about which nothing else is known."""
    empty = {"title": "", "question": None, "started": None, "scenario": {}, "notes": [], "host": {}, "versions": {}}
    return Record(**(empty | {"verdict": Verdict(True)} | about), engines=[engine])
