"""Writes what is generated from the models: schemas/*.json and docs/scenario.md. Run: python -m windtunnel.scenario.schemas"""

import json
from pathlib import Path

from windtunnel.engine.lines import LINE
from windtunnel.engine.plan import Plan
from windtunnel.measure.study.record import StudyRecord
from windtunnel.measure.throughput.record import SearchRecord
from windtunnel.scenario.keys import Scenario
from windtunnel.scenario.page import page

CHECKOUT = Path(__file__).resolve().parents[3]


def generated() -> dict[Path, str]:
    """Path in the checkout -> content."""
    schemas = {
        "scenario": Scenario.model_json_schema(),
        "plan": Plan.model_json_schema(),
        "lines": LINE.json_schema(),
        "search": SearchRecord.model_json_schema(),
        "study": StudyRecord.model_json_schema(),
    }
    files = {Path("schemas") / f"{name}.json": json.dumps(schema, indent=1) + "\n" for name, schema in schemas.items()}
    return files | {Path("docs/scenario.md"): page()}


def write(checkout: Path = CHECKOUT) -> None:
    for path, text in generated().items():
        (checkout / path).parent.mkdir(exist_ok=True)
        (checkout / path).write_text(text)


if __name__ == "__main__":
    write()
