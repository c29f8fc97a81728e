"""Writing a run directory while the run runs."""

import json
import platform
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pydantic_core import to_jsonable_python

from windtunnel.engine.line_model import Line
from windtunnel.engine.lines import Error, Hello, Peer, Phase, Ready, Result
from windtunnel.engine.verdict import Verdict
from windtunnel.engine.windows import Window
from windtunnel.part_registry import part_functions
from windtunnel.runs.directories import make_held
from windtunnel.runs.files import LineFile, replace
from windtunnel.runs.hlog import LatencyLog
from windtunnel.runs.reader import Run
from windtunnel.runs.record import DID_NOT_FINISH, EngineRecord, Record
from windtunnel.runs.validity import Validity
from windtunnel.runs.variants import variant_rows
from windtunnel.version import __version__


class RunWriter:
    """Makes `directory` and updates it line by line: from the first moment on it holds a run.json that says
    "did not finish", until `finish` puts the verdict in its place.

    Raises UserError for a directory that exists or cannot be written, and for a full disk at any point.
    """

    def __init__(self, directory: Path, spec: Any, host: Any):
        self.directory = Path(directory)
        self.held = make_held(self.directory)
        """What is written into the run's directory goes by this, whatever takes its name."""
        with self.held.named():
            self._begin(spec, host)

    def _begin(self, spec: Any, host: Any) -> None:
        self._record = Record(
            title=spec.title,
            question=spec.question,
            started=datetime.now(UTC),
            verdict=Verdict(False, [DID_NOT_FINISH]),
            scenario=to_jsonable_python(spec.resolved),
            labels=dict(spec.labels),
            notes=list(spec.notes),
            host=to_jsonable_python(host),
            testbed=spec.testbed,
            versions={"windtunnel": __version__, "python": platform.python_version()},
            engines=[EngineRecord(name=n, plan=p) for n, p in zip(spec.names, spec.plans, strict=True)],
        )
        self._engines = {engine.name: engine for engine in self._record.engines}
        self._save()
        self._keep_files_of_parts()
        self._windows = LineFile(self.held.place / "windows.jsonl")
        self.windows: dict[str, list[Window]] = {engine.name: [] for engine in self._record.engines}
        workloads = [w.name for w in self._record.engines[0].plan.workloads]
        self._latency = LatencyLog(self.held.place / "latency.hlog", workloads)

    def _keep_files_of_parts(self) -> None:
        for files in part_functions("record", "files"):
            for engine in self._record.engines:
                for name, text in files(engine.plan).items():
                    replace(self.held.place / name, text)

    def log_path(self, engine_name: str) -> Path:
        """The file for this engine's stdout and stderr, for this process."""
        one_side = len(self._engines) == 1
        return self.held.place / ("engine.log" if one_side else f"engine-{self._engines[engine_name].name}.log")

    def line(self, engine_name: str, line: Line, raw: str) -> None:
        """Keep one line of an engine; `raw` is its text, which windows.jsonl holds as it came."""
        with self.held.named():
            self._keep(engine_name, line, raw)

    def _keep(self, engine_name: str, line: Line, raw: str) -> None:
        engine = self._engines[engine_name]
        match line:
            case Window():
                self._windows.append(_tagged(engine_name, raw))
                self.windows[engine_name].append(line)
                self._latency.window(engine_name, line)
                return
            case Hello():
                engine.hello = line
                self._record.versions |= {"engine": line.engine, "dpdk": line.dpdk}
            case Phase():
                engine.phases.append(line)
            case Ready():
                engine.ready = line
            case Peer():
                engine.peer = line
            case Result():
                engine.result = line
                return  # `finish` saves it, milliseconds later
            case Error():
                engine.error = line
        self._save()

    @property
    def engines(self) -> list[EngineRecord]:
        """The engines so far."""
        return self._record.engines

    def finish(self, verdict: Verdict, validity: Validity | None = None) -> Run:
        """Put the verdict into run.json, with everything else on the disk before it; the run as `load` reads it."""
        with self.held.named():
            return self._finish(verdict, validity)

    def _finish(self, verdict: Verdict, validity: Validity | None) -> Run:
        self._windows.close()
        self._latency.close({(window.engine, window.window) for window in validity.excluded} if validity else ())
        self._record.verdict = verdict
        self._record.validity = validity
        self._record.finished = datetime.now(UTC)
        run = Run(self.directory, self._record, self.windows)
        self._record.rejected = run.rejected
        self._record.variants = variant_rows(run)
        self._save()
        return run

    def _save(self) -> None:
        replace(self.held.place / "run.json", self._record.model_dump_json(indent=1) + "\n")


def _tagged(engine_name: str, raw: str) -> str:
    """The engine's own text with its name as the first key: the numbers stay as the engine wrote them."""
    body = raw.strip()
    if not body.startswith("{"):
        raise ValueError("a line of the engine is a JSON object")
    return f'{{"engine":{json.dumps(engine_name)},{body[1:]}\n'
