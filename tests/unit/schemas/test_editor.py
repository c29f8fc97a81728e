"""The schemas for editors: every shipped file is valid by them, wrong ones are not, and no word of them is passed over by taplo."""

import json
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from scenario_tools import SHIPPED

from windtunnel.cli.app import app
from windtunnel.schemas.editor import DRAFT, FILES, editor_schema
from windtunnel.schemas.generate import CHECKOUT

SHIPPED_FILES = {"scenario": sorted(SHIPPED.glob("*.toml")), "study": sorted((CHECKOUT / "studies").glob("*.toml"))}
TAPLO = Path(sys.executable).parent / "taplo"
PASSED_OVER = {"prefixItems", "dependentRequired", "dependentSchemas", "$defs"}
PASSED_OVER |= {"unevaluatedProperties", "unevaluatedItems"}
"""Words of later drafts."""

WRONG = [
    ("scenario", "", "'workload' is a required property"),
    ("scenario", "[[workload]]\n[client]\ninflite = 3", "'inflite' was unexpected"),
    ("scenario", "[[workload]]\n[server.batch]\napp_rx = 5000", "5000 is greater than the maximum"),
    ("scenario", "[[workload]]\n[wire]\nkind = 'rng'", "'rng' is not one of"),
    ("scenario", "duration = 5\n[[workload]]", "5 is not of type 'string'"),
    ("scenario", "duration = '5 parsecs'\n[[workload]]", "does not match"),
    ("scenario", "[[workload]]\ncolocate = 'yes'", "'yes' is not of type 'boolean'"),
    ("scenario", "[[workload]]\nname = 'a name'", "does not match"),
    ("study", "scenario = 'a.toml'", "'factor' is a required property"),
    ("study", "scenario = 'a.toml'\n[[factor]]\nkey = 'seed'", "is not valid under any of the given schemas"),
    ("study", "scenario = 'a.toml'\n[[factor]]\nvalues = [1]", "is not valid under any of the given schemas"),
    ("study", "scenario = 'a.toml'\n[[factor]]\nkey = 'seed'\nvalues = [1]\nlog = { from = 1, to = 2, points = 2 }", "valid under each of"),
    ("study", "scenario = 'a.toml'\n[[factor]]\nkey = 'seed'\nlog = { from = 1, to = 2, points = 1 }", "1 is less than the minimum of 2"),
    ("study", "scenario = 'a.toml'\n[full]\nrepeats = 0\n[[factor]]\nkey = 'seed'\nvalues = [1]", "0 is less than the minimum of 1"),
]  # fmt: skip


def faults(kind: str, text: str) -> str:
    validator = jsonschema.Draft7Validator(editor_schema(kind))
    return "\n".join(error.message for error in validator.iter_errors(tomllib.loads(text)))


def words(part: Any, names: bool = False) -> Iterator[str]:
    """Every word of a schema, names of keys and tables apart."""
    if isinstance(part, dict):
        for word, value in part.items():
            if not names:
                yield word
            yield from words(value, names=word in ("properties", "definitions") and not names)
    elif isinstance(part, list):
        for value in part:
            yield from words(value)


@pytest.mark.parametrize("kind", FILES)
def test_the_schema_is_one_of_draft_7_and_has_no_later_word(kind):
    schema = editor_schema(kind)
    assert schema["$schema"] == DRAFT
    jsonschema.Draft7Validator.check_schema(schema)
    assert not PASSED_OVER & set(words(schema))


@pytest.mark.parametrize("kind", FILES)
def test_nothing_stands_beside_a_reference_and_no_key_may_be_null(kind):
    def check(part: Any) -> None:
        if isinstance(part, dict):
            assert "$ref" not in part or len(part) == 1, part
            assert part.get("type") != "null", part
        for value in part.values() if isinstance(part, dict) else part if isinstance(part, list) else ():
            check(value)

    check(editor_schema(kind))


def test_every_key_keeps_its_help():
    schema = editor_schema("scenario")
    for table in (schema, *schema["definitions"].values()):
        for name, key in table["properties"].items():
            assert key.get("description"), name


@pytest.mark.parametrize(
    ("kind", "file"),
    [(kind, file) for kind in FILES for file in SHIPPED_FILES[kind]],
    ids=lambda part: getattr(part, "name", part),
)
def test_shipped_files_are_valid(kind, file):
    assert faults(kind, file.read_text()) == ""


@pytest.mark.parametrize(("kind", "text", "said"), WRONG)
def test_wrong_files_are_not(kind, text, said):
    assert said in faults(kind, text)


@pytest.mark.slow
def test_taplo_finds_the_schema_that_a_file_names(tmp_path):
    (tmp_path / "scenario.schema.json").write_text(json.dumps(editor_schema("scenario")))
    good = (SHIPPED / "echo.toml").read_text().replace("\n", "\n#:schema ./scenario.schema.json\n", 1)
    (tmp_path / "good.toml").write_text(good)
    (tmp_path / "wrong.toml").write_text(good.replace("inflight", "inflite"))
    results = {
        name: subprocess.run([TAPLO, "lint", name], cwd=tmp_path, capture_output=True, text=True, check=False)
        for name in ("good.toml", "wrong.toml")
    }
    assert results["good.toml"].returncode == 0, results["good.toml"].stderr
    assert results["wrong.toml"].returncode == 1
    assert "'inflite' was unexpected" in results["wrong.toml"].stderr


@pytest.mark.slow
def test_taplo_checks_the_files_of_the_checkout():
    """By .taplo.toml."""
    done = subprocess.run(
        [TAPLO, "lint", "scenarios/*.toml", "studies/*.toml"], cwd=CHECKOUT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert f"total={sum(len(files) for files in SHIPPED_FILES.values())}" in done.stderr


def test_the_command_prints_it(capsys):
    app(["schema", "study"], standalone_mode=False)
    assert json.loads(capsys.readouterr().out) == editor_schema("study")
