"""What is generated from the models is as they are now."""

import json
import tomllib

import jsonschema
import pytest
from scenario_tools import SHIPPED

from windtunnel.cli import command_line_page
from windtunnel.scenario.keys import Scenario
from windtunnel.scenario.reference import keys_of
from windtunnel.schemas.generate import CHECKOUT, generated
from windtunnel_sharing import docs

MODULES = {
    "windtunnel.schemas": generated,
    "windtunnel_sharing.docs": docs.generated,
    "windtunnel.cli.command_line_page": command_line_page.generated,
}


@pytest.mark.parametrize("module", MODULES)
def test_generated_files_are_fresh(module):
    texts = MODULES[module]()
    stale = [str(path) for path, text in texts.items() if (CHECKOUT / path).read_text() != text]
    assert texts and not stale, f"run: python -m {module}"


def test_shipped_scenarios_match_the_schema():
    schema = jsonschema.Draft202012Validator(json.loads((CHECKOUT / "schemas" / "scenario.json").read_text()))
    for file in SHIPPED.glob("*.toml"):
        schema.validate(tomllib.loads(file.read_text()))


def test_every_key_has_its_values_and_a_help_text():
    def check(table):
        for key in keys_of(table).values():
            assert key.wanted, key
            assert key.help, key
            if key.table:
                check(key.table)

    check(Scenario)
