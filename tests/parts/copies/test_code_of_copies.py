"""A copier that is a file is code of the scenario's own: it is named, refused where code is, and opened only for a run or its check."""

import json
import os

import pytest
from command_line import SCENARIO
from scenario_tools import engine, finished, refused
from study_tools import HEAD, ONE_FACTOR, written

from windtunnel.measure.study import definition, design
from windtunnel.parts.ui.edit.scenario_check import check
from windtunnel.scenario.load import scenario_of
from windtunnel.scenario.plugins import code_not_opened, code_of, code_refused

NO_OPTION = {"thread_option": None, "inner_option": None, "profile_option": None}
PLAIN = NO_OPTION | {"help": "moves bytes", "most_depth": 64, "options": []}
LEAST = {"name": "least", "type": "bytes", "default": "512", "choices": None, "help": "a size"}
WORD = {"type": "text", "default": "cpu", "choices": None, "help": "a copier"}
COPIERS = [
    PLAIN | {"name": "cpu"},
    PLAIN | {"name": "planted", "inner_option": "engine", "options": [WORD | {"name": "engine"}]},
]
OWN = [PLAIN | {"name": "own", "options": [LEAST, WORD | {"name": "list", "type": "file", "default": ""}]}]
HANDLERS = [
    {"name": name, "kind": "message", "help": "", "options": [], "names_copies": False, "checks": False}
    for name in ("l_app", "t_app")
]
ON_PLANTED = {"engine": "planted", "options": {"engine": "./own.so"}}


@pytest.fixture(autouse=True, scope="module")
def no_engine():
    """What an engine says is what these tests are about."""


@pytest.fixture
def opened(tmp_path):
    """What an engine was asked to open."""
    script, file = tmp_path / "engine", tmp_path / "opened"
    script.write_text(
        "#!/bin/sh\n"
        f'[ "$2" ] && echo "$1 $3" >> {file}\n'
        f"case \"$1 $3\" in '--copiers ') echo '{json.dumps(COPIERS)}';; --copiers*) echo '{json.dumps(OWN)}';;"
        f" *) echo '{json.dumps(HANDLERS)}';; esac\n"
    )
    script.chmod(0o755)
    (tmp_path / "own.so").touch()
    with engine(str(script)):
        yield file


def workload(copies: dict) -> dict:
    return {"workload": [{"handler": "t_app", "request": "32KiB", "source": {"bytes": "1MiB"}, "copies": copies}]}


def planned(directory, copies: dict):
    return finished(directory, workload(copies)).plans[0].workloads[0].copies


def test_a_file_has_its_path_and_its_own_options(tmp_path, opened):
    (tmp_path / "list.txt").touch()
    copies = planned(tmp_path, {"engine": "own.so", "options": {"least": "1KiB", "list": "list.txt"}})
    assert copies.engine == os.path.realpath(tmp_path / "own.so")
    assert copies.options == {"least": "1024", "list": os.path.realpath(tmp_path / "list.txt")}
    assert set(opened.read_text().splitlines()) == {f"--copiers {tmp_path}/own.so"}


def test_the_one_on_which_another_works_has_its_path(tmp_path, opened):
    copies = planned(tmp_path, ON_PLANTED)
    assert (copies.engine, copies.options) == ("planted", {"engine": os.path.realpath(tmp_path / "own.so")})


@pytest.mark.parametrize(
    ("copies", "words"),
    [
        ({"engine": "./own.so", "options": {"leest": 1}}, 'own.so has no option "leest"; did you mean "least"?'),
        ({"engine": "./own.so", "depth": 65}, "own.so takes 64 copies at once, not 65; at most 64"),
        ({"engine": "./gone.so"}, "/gone.so; build the plug-in first; its path is relative to the scenario file"),
        (ON_PLANTED | {"options": {"engine": "./gone.so"}}, "/gone.so; build the plug-in first"),
        ({"engine": "own"}, 'no copier "own"; one of cpu, planted, or a .so'),
    ],
)
def test_what_is_wrong_with_one_is_refused_with_the_line(tmp_path, opened, copies, words):
    text = refused(tmp_path, workload(copies))
    assert text.startswith(f"{tmp_path / 'test.toml'}:") and words in text


@pytest.mark.parametrize(
    ("copies", "code"),
    [({"engine": "./own.so"}, "./own.so"), ({"engine": "own.so"}, "own.so"), (ON_PLANTED, "./own.so")],
)
def test_one_is_refused_and_not_opened_where_code_is(tmp_path, opened, copies, code):
    with code_refused():
        text = refused(tmp_path, workload(copies))
        assert planned(tmp_path, {"engine": "cpu"}).engine == "cpu"
    assert f"{code} is code of its own" in text and "--no-plugins" in text
    assert not opened.exists()


@pytest.mark.parametrize("copies", [{"engine": "./own.so", "options": {"any": 1}}, ON_PLANTED])
def test_one_is_planned_and_not_opened(tmp_path, opened, copies):
    with code_not_opened():
        plan = planned(tmp_path, copies)
    assert os.path.realpath(tmp_path / "own.so") in (plan.engine, plan.options.get("engine"))
    assert not opened.exists()


TEXT = SCENARIO.format(duration="1s")
COPYING = TEXT + '[workload.copies]\nengine = "./own.so"\n'


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (COPYING + "[workload.source]\n", ["./own.so"]),
        (COPYING.replace('"l_app"', '"./mine.so"'), ["./mine.so", "./own.so"]),
        (TEXT.replace('"l_app"', '"./mine.so"') + "[workload.copies]\nverify = true\n", ["./mine.so"]),
    ],
    ids=["a copier", "both", "a handler that might name copies"],
)
def test_a_page_names_what_it_would_open_and_opens_nothing(tmp_path, opened, text, code):
    (tmp_path / "mine.so").touch()
    found = check(tmp_path / "sent.toml", text, tmp_path, came_with_run=False, opens=False)
    assert (found.problem, found.not_yet) == (None, f"The check runs {' and '.join(code)} as you.")
    assert not opened.exists()


def test_reading_a_scenario_opens_no_copier(tmp_path, opened):
    assert code_of(scenario_of(tmp_path / "sent.toml", COPYING + "[workload.source]\n")) == ["./own.so"]
    assert not opened.exists()


def test_a_study_names_the_copiers_of_its_points_and_opens_nothing(tmp_path, opened):
    """A point whose handler is a file may name copies, too: it is not asked whether it does."""
    factors = '\n[[factor]]\nkey = "workload.0.copies.engine"\nvalues = ["cpu", "./own.so"]\n'
    factors += '\n[[factor]]\nkey = "workload.0.handler"\nvalues = ["./mine.so"]\n'
    (tmp_path / "mine.so").touch()
    study = definition.read(
        written(tmp_path, ONE_FACTOR.replace("32, 64, 128", "64") + factors, HEAD + "repeats = 1\n")
    )
    assert design.code_of(study, []) == ["./mine.so", "./own.so"]
    assert not opened.exists()
