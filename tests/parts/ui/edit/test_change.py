"""One key of a text changed: the rest of the text, its comments and its order stay."""

import tomllib
from importlib import resources

import pytest

from windtunnel.errors import UserError
from windtunnel.parts.ui.edit.change import changed, path_of, value_from

TEXT = """\
# What does it cost?
title    = "echo"   # the name
duration = "3s"

[server]   # ours
batch = { app_rx = 32 }

[[workload]]
handler = "l_app"
"""
SHIPPED = {
    file.name: file.read_text()
    for file in (resources.files("windtunnel") / "templates").iterdir()
    if file.name.endswith(".toml")
}


def test_a_key_is_set_and_comments_stay():
    assert changed(TEXT, "set", ("duration",), "5s") == TEXT.replace("3s", "5s")
    assert changed(TEXT, "set", ("title",), "other") == TEXT.replace('"echo"', '"other"')


def test_a_key_is_removed():
    assert changed(TEXT, "remove", ("duration",)) == TEXT.replace('duration = "3s"\n', "")


@pytest.mark.parametrize(
    ("path", "value", "line"),
    [
        (("seed",), 7, "seed = 7"),
        (("server", "batch", "nic_rx"), 64, "batch = { app_rx = 32, nic_rx = 64}"),
        (("server", "mempool", "cache"), 0, "mempool = {cache = 0}"),
        (("client", "rate"), "2M", '[client]\nrate = "2M"'),
        (("workload", 0, "client", "apps"), 2, "client = {apps = 2}"),
    ],
)
def test_a_key_that_was_not_there_is_added_in_its_table(path, value, line):
    made = changed(TEXT, "set", path, value)
    assert line in made
    level = tomllib.loads(made)
    for part in path:
        level = level[part]
    assert level == value
    assert made.startswith(TEXT[:50])


def test_tables_of_a_list_are_added_and_removed():
    two = changed(TEXT, "add", ("workload",))
    assert tomllib.loads(two)["workload"] == [{"handler": "l_app"}, {}]
    assert tomllib.loads(changed(two, "remove", ("workload", 0)))["workload"] == [{}]
    phases = changed(TEXT, "add", ("workload", 0, "phase"))
    assert tomllib.loads(phases)["workload"][0]["phase"] == [{}]
    assert changed(phases, "remove", ("workload", 0, "phase", 0)).strip() == TEXT.strip()


def leaves(value, path=()):
    if isinstance(value, dict):
        return [leaf for key, inner in value.items() for leaf in leaves(inner, (*path, key))]
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return [leaf for n, inner in enumerate(value) for leaf in leaves(inner, (*path, n))]
    return [path]


def new_keys() -> dict[str, list]:
    """Of each shipped scenario that has some, the keys that none before it has."""
    known: set[tuple] = set()
    found = {}
    for name, text in sorted(SHIPPED.items()):
        paths = leaves(tomllib.loads(text))
        keys = {tuple(part for part in path if isinstance(part, str)): path for path in paths}
        found[name] = [path for key, path in keys.items() if key not in known]
        known |= keys.keys()
    return {name: paths for name, paths in found.items() if paths}


def check_keys(text: str, paths) -> None:
    for path in paths:
        assert changed(text, "set", path, "x").count("#") == text.count("#"), path
        changed(text, "remove", path)


NEW_KEYS = new_keys()


@pytest.mark.parametrize("name", NEW_KEYS)
def test_every_key_that_the_shipped_scenarios_have_can_be_set(name):
    check_keys(SHIPPED[name], NEW_KEYS[name])


@pytest.mark.long("crosses")
@pytest.mark.parametrize("name", sorted(SHIPPED))
def test_every_key_of_every_shipped_scenario_can_be_set(name):
    check_keys(SHIPPED[name], leaves(tomllib.loads(SHIPPED[name])))


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("title = ", ("title",)),
        ("a" * 10 + ".b" * 300 + " = 1", ("title",)),
        ("x = " + "[" * 3000 + "]" * 3000, ("title",)),
        ("workload = 3", ("workload", 0, "handler")),
        ("server = 3", ("server", "cores")),
        ("[[workload]]", ("workload", 5, "handler")),
        ("server = []", ("server", "cores")),
    ],
)
def test_a_text_in_which_it_cannot_be_changed_is_refused(text, path):
    with pytest.raises(UserError):
        changed(text, "set", path, "x")


@pytest.mark.parametrize("text", ["", ".", "a.", "a b", "a=1", "a\n", "ü", "a." * 9 + "a", '"a"'])
def test_what_is_no_path_is_refused(text):
    with pytest.raises(UserError):
        path_of(text)


def test_paths_and_values():
    assert path_of("workload.0.request") == ("workload", 0, "request")
    assert value_from("64", "value") == 64
    assert value_from("64", "text") == "64"
    assert value_from("2M", "value") == "2M"
    assert value_from('{ state = "4MiB" }', "value") == {"state": "4MiB"}
    assert value_from("true", "bool") is True
    assert value_from("ring", "choice") == "ring"
