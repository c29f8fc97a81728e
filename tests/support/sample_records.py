"""Records of runs that were never run, from the sample lines of their engines."""

import sample_lines as sample

from windtunnel.engine.plan import Plan
from windtunnel.parts.copies.ledger import CopyLedger
from windtunnel.runs import EngineRecord, Record, Verdict


def engine_record(of: Plan) -> EngineRecord:
    """An engine that said of itself what the sample says."""
    said = {line.type: line for line in sample.engine_lines(of) if line.type in ("hello", "ready", "result")}
    return EngineRecord(name="windtunnel", plan=of, **said)


def record(engine: EngineRecord, **about) -> Record:
    """A valid run of this engine, about which nothing else is known."""
    empty = {"title": "", "question": None, "started": None, "scenario": {}, "notes": [], "host": {}, "versions": {}}
    return Record(**(empty | {"verdict": Verdict(True)} | about), engines=[engine])


def copy_ledger(**about) -> CopyLedger:
    """Of a copier of the first application, all of whose copies ended."""
    copier = {"engine": "dma", "kind": "core", "device": "dma_skeleton0", "cpu": 0, "cpu_ns": 5, "at_least_bytes": 0}
    counts = {"submitted": 9, "measuring": 0, "ended": 9, "copies": 9, "by_cpu": {}, "uncopied": 0, "bytes": 9000}
    ends = {"never_ended": 0, "missing": 0, "driver": None, "planted": None}
    return CopyLedger(workload=0, application=0, **(copier | counts | ends | about))
