"""The recipes of the page on CI: GitHub and GitLab take the files, the action takes its inputs, and the commands are ones that there are."""

import re
from pathlib import Path

import pytest
import typer
from check_jsonschema import main as check_jsonschema
from click.testing import CliRunner
from ruamel.yaml import YAML

from windtunnel.cli.app import app

CHECKOUT = Path(__file__).resolve().parents[3]
PAGE = (CHECKOUT / "docs/how-to/gate-in-ci.md").read_text()
GITHUB, GITLAB = re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
COMMANDS = sorted(set(re.findall(r"windtunnel ((?:compare|run|history) [^\n'`]*)", PAGE)))


@pytest.mark.parametrize(("schema", "text"), [("vendor.github-workflows", GITHUB), ("vendor.gitlab-ci", GITLAB)])
def test_a_server_takes_the_file(schema, text, tmp_path):
    (tmp_path / "recipe.yml").write_text(text)
    done = CliRunner().invoke(check_jsonschema, ["--builtin-schema", schema, str(tmp_path / "recipe.yml")])
    assert done.exit_code == 0, done.output


def test_the_action_has_the_inputs_of_the_recipe():
    (job,) = YAML(typ="safe").load(GITHUB)["jobs"].values()
    (given,) = (step["with"] for step in job["steps"] if "windtunnel-compare" in step.get("uses", ""))
    action = YAML(typ="safe").load(CHECKOUT / "contrib/compare-action/action.yml")
    assert set(given) <= set(action["inputs"])
    assert {name for name, described in action["inputs"].items() if described.get("required")} <= set(given)


@pytest.mark.parametrize("text", COMMANDS)
def test_a_command_parses(text):
    name, *words = text.split()
    command = typer.main.get_command(app).commands[name]
    with command.make_context(name, words):
        pass


def test_each_recipe_has_the_same_comparison():
    assert len([text for text in COMMANDS if text.startswith("compare ") and "--fail-if" in text]) == 1
    assert len(COMMANDS) >= 4
