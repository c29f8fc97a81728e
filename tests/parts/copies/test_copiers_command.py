"""windtunnel copiers: the list of the engine, in words and as JSON."""

import json
import re
import tomllib

import pytest
from scenario_tools import engine
from typer.testing import CliRunner

from windtunnel.cli.app import app
from windtunnel.errors import UserError
from windtunnel.parts.copies.query import copiers

OPTION = {"name": "device", "type": "text", "default": "skeleton", "choices": None, "help": "which engine"}
LISTED = [
    {
        "name": "dma",
        "help": "an engine",
        "thread_option": "device",
        "inner_option": None,
        "profile_option": None,
        "most_depth": 8191,
        "options": [OPTION],
    }
]


@pytest.fixture
def listing(tmp_path):
    """An engine that prints this list."""

    def made(text: str):
        file = tmp_path / "windtunnel-engine"
        file.write_text(f"#!/bin/sh\ncat <<'END'\n{text}\nEND\n")
        file.chmod(0o755)
        return file

    return made


def shown(binary, *arguments: str) -> str:
    with engine(str(binary)):
        done = CliRunner(env={"COLUMNS": "120"}).invoke(app, ["copiers", *arguments])
    assert done.exit_code == 0, done.output
    return done.output


def test_every_copier_is_listed_with_its_options(listing):
    text = shown(listing(json.dumps(LISTED)))
    assert "dma" in text and "8191" in text and "device (text, default skeleton)  which engine" in text


def test_profiles_of_engines_are_listed_and_printed(listing):
    text = shown(listing(json.dumps(LISTED)))
    assert "dsa-spr" in text and "figures are assumptions" in text
    assert "[caller]" in shown(listing("no list"), "dsa-spr")


def test_one_of_the_users_own_is_shown_by_its_path(listing, tmp_path):
    file = tmp_path / 'my "own".so'
    file.touch()
    binary = tmp_path / "asked"
    binary.write_text(f"#!/bin/sh\n[ \"$*\" = '--copiers --plugin {file}' ] && echo '{json.dumps(LISTED)}'\n")
    binary.chmod(0o755)
    text = shown(binary, "--plugin", str(file))
    [line] = re.findall("in a scenario:  (.*)", text)
    assert tomllib.loads(line.replace("] ", "]\n"))["workload"]["copies"] == {"engine": str(file)}
    assert "device (text" in text and "dsa-spr" not in text
    for arguments, words in (
        (["dsa-spr", "--plugin", str(file)], "exclude each other"),
        (["--plugin", str(tmp_path / "gone.so")], "gone.so: no such file"),
    ):
        done = CliRunner().invoke(app, ["copiers", *arguments])
        assert done.exit_code and words in str(done.exception)


def test_the_list_as_json_is_the_engines(listing):
    assert json.loads(shown(listing(json.dumps(LISTED)), "--json")) == LISTED


def test_a_list_of_another_shape_is_refused(listing):
    with pytest.raises(UserError, match="--copiers: not a list of copiers"):
        copiers(listing('[{"name": "x"}]'))
