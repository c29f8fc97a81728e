"""Generates schemas/*.json and pages of docs/reference from the models. Run: python -m windtunnel.schemas"""

import json
from itertools import groupby
from pathlib import Path
from typing import Any

from windtunnel.engine.lines import LINE
from windtunnel.engine.plan import Plan
from windtunnel.engine.query import Wire
from windtunnel.engine.windows import Window
from windtunnel.engine.wires import known, snapshot_of
from windtunnel.host.ladder import Ladder
from windtunnel.measure.calibration import Calibration
from windtunnel.measure.compare.comparison_record import Comparison
from windtunnel.measure.history.history_record import Histories
from windtunnel.measure.repeat import Repeated
from windtunnel.measure.study.record import StudyRecord
from windtunnel.measure.throughput.search_record import SearchRecord
from windtunnel.part_registry import part_functions, part_modules
from windtunnel.runs import Record, counters, monitor
from windtunnel.scenario.keys import Scenario
from windtunnel.schemas import (
    catalogue_page,
    counters_page,
    drops_page,
    editor,
    export_page,
    scenario_page,
    study_page,
    wires_page,
)

CHECKOUT = Path(__file__).resolve().parents[3]


class WindowLine(Window):
    """A line of windows.jsonl: a window of the engine, with its engine's name in front."""

    engine: str


def generated() -> dict[Path, str]:
    """Path in the checkout -> content."""
    schemas = {
        "scenario": Scenario.model_json_schema(),
        "plan": Plan.model_json_schema(mode="serialization"),  # a plan for the engine has every key
        "lines": LINE.json_schema(),
        "search": SearchRecord.model_json_schema(),
        "run": Record.model_json_schema(),
        "windows": WindowLine.model_json_schema(),
        "comparison": Comparison.model_json_schema(),
        "calibration": Calibration.model_json_schema(),
        "repeated": Repeated.model_json_schema(),
        "history": Histories.model_json_schema(),
        "counters": counters.LINE.json_schema(),
        "monitor": monitor.LINE.json_schema(),
        "study": StudyRecord.model_json_schema(),
        "ladder": Ladder.model_json_schema(),
        **{name: model.model_json_schema() for part in part_modules("schemas") for name, model in part.SCHEMAS.items()},
        **{f"editor/{kind}": editor.editor_schema(kind) for kind in editor.FILES},
    }
    plain = {name: schema if name == "plan" else _without_cpp(schema) for name, schema in schemas.items()}
    files = {Path("schemas") / f"{name}.json": json.dumps(schema, indent=1) + "\n" for name, schema in plain.items()}
    wires = list(known().values())
    pages = {
        "wire-options": wires_page.page(wires),
        "scenario": scenario_page.page(),
        "study": study_page.page(),
        "export": export_page.page(),
        "counters": counters_page.page(),
        "drops-and-verdicts": drops_page.page(),
        "scenarios": catalogue_page.scenarios_page(CHECKOUT),
        "studies": catalogue_page.studies_page(CHECKOUT),
    }
    for pages_of_part in part_functions("pages", "reference"):
        pages |= pages_of_part()
    for file, of_file in groupby(sorted(wires, key=_snapshot_of), _snapshot_of):
        described = [wire.model_dump(mode="json") for wire in of_file]
        files[file.relative_to(CHECKOUT)] = json.dumps(described, indent=1, ensure_ascii=False) + "\n"
    return files | {Path("docs/reference") / f"{name}.md": text for name, text in pages.items()}


def _snapshot_of(wire: Wire) -> Path:
    return snapshot_of(wire.name)


def _without_cpp(part: Any) -> Any:
    """The schema without the keys that only the generator of the engine's readers needs."""
    if isinstance(part, dict):
        return {key: _without_cpp(value) for key, value in part.items() if key not in ("x-cpp", "x-constants")}
    return [_without_cpp(value) for value in part] if isinstance(part, list) else part


def write(files: dict[Path, str], checkout: Path = CHECKOUT) -> None:
    for path, text in files.items():
        (checkout / path).parent.mkdir(parents=True, exist_ok=True)
        (checkout / path).write_text(text)
