"""Run directories: what one execution of a scenario leaves, written so that a crash at any moment harms no finished part.

run.json        what ran, where, and the verdict (see `windtunnel.runs.record`)
windows.jsonl   every window as the engine wrote it, with the engine's name in front
latency.hlog    HdrHistogram log, one histogram for each measured window and workload
trace.json      sampled loops for Perfetto, if they were traced (see `windtunnel.runs.trace`)
engine.log      what the engine and its drivers printed (engine-<name>.log if there are several)
report.html     made from the files above by `windtunnel.results`
"""

from windtunnel.engine.verdict import Verdict
from windtunnel.runs.reader import Run, load
from windtunnel.runs.record import EngineRecord, Record
from windtunnel.runs.writer import RunWriter

__all__ = ["EngineRecord", "Record", "Run", "RunWriter", "Verdict", "load"]
