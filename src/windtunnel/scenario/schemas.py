"""Writes what is generated from the models: schemas/*.json, docs/scenario.md, docs/export.md and docs/serve.md. Run: python -m windtunnel.scenario.schemas"""

import json
from pathlib import Path

from windtunnel.engine.lines import LINE, Window
from windtunnel.engine.plan import Plan
from windtunnel.exports import page as exports
from windtunnel.host.ladder import Ladder
from windtunnel.measure.compare import Comparison
from windtunnel.measure.study.record import StudyRecord
from windtunnel.measure.throughput.record import SearchRecord
from windtunnel.model.record import ModelRecord
from windtunnel.runs import Record
from windtunnel.scenario.keys import Scenario
from windtunnel.scenario.page import page
from windtunnel.sharing.daemon import keys_page

CHECKOUT = Path(__file__).resolve().parents[3]


class WindowLine(Window):
    """A line of windows.jsonl: a window of the engine, with its engine's name in front."""

    engine: str


def generated() -> dict[Path, str]:
    """Path in the checkout -> content."""
    schemas = {
        "scenario": Scenario.model_json_schema(),
        "plan": Plan.model_json_schema(),
        "lines": LINE.json_schema(),
        "search": SearchRecord.model_json_schema(),
        "run": Record.model_json_schema(),
        "windows": WindowLine.model_json_schema(),
        "comparison": Comparison.model_json_schema(),
        "study": StudyRecord.model_json_schema(),
        "model": ModelRecord.model_json_schema(),
        "ladder": Ladder.model_json_schema(),
    }
    files = {Path("schemas") / f"{name}.json": json.dumps(schema, indent=1) + "\n" for name, schema in schemas.items()}
    pages = {"scenario": page(), "export": exports.page(), "serve": keys_page.page()}
    return files | {Path("docs") / f"{name}.md": text for name, text in pages.items()}


def write(checkout: Path = CHECKOUT) -> None:
    for path, text in generated().items():
        (checkout / path).parent.mkdir(exist_ok=True)
        (checkout / path).write_text(text)


if __name__ == "__main__":
    write()
