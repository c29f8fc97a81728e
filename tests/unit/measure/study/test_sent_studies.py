"""A study's directory that somebody sent: what it would run is shown, and nothing of it is opened before the user has agreed."""

import json
import os
import re
import shutil

import pytest
from command_line import command, on_terminal
from part_samples import part_samples
from scenario_tools import machine
from study_tools import HEAD, ONE_FACTOR, finished, on_paper, refused, written

from windtunnel.engine.query import Handler
from windtunnel.errors import UserError
from windtunnel.measure.executor import ThisHost
from windtunnel.measure.study import record as records
from windtunnel.measure.study import seal
from windtunnel.measure.study.seal import BegunElsewhere
from windtunnel.measure.study.study import prepare
from windtunnel.scenario import plugins

ONCE = HEAD + "repeats = 1\n"
ONE_VALUE = ONE_FACTOR.replace("32, 64, 128", "64")
PLUG_IN = '\n[[factor]]\nkey = "workload.0.handler"\nvalues = ["./sent.so"]\n'


@pytest.fixture(autouse=True)
def paper(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    with on_paper():
        yield


@pytest.fixture
def opened(monkeypatch):
    """The plug-ins that were asked what they are."""
    found = []

    def asked(ask, plugin):
        found.append(plugin.name)
        return (Handler(name="sent", kind="message", help="", options=[]),)

    monkeypatch.setattr(plugins, "_asked", asked)
    return found


@pytest.fixture
def sent(tmp_path, monkeypatch, opened):
    """The directory of a study that another user began, whose points have a plug-in as handler."""
    (tmp_path / "sent.so").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "of the author"))
    study = finished(written(tmp_path, ONE_VALUE + PLUG_IN, ONCE), tmp_path / "out")
    shutil.rmtree(study.path / "runs")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    opened.clear()
    return study.path


@pytest.mark.parametrize("read", [records.read, *part_samples("READ_RECORD")])
def test_a_record_without_an_end_is_not_read(tmp_path, read):
    file = tmp_path / "study.json"
    file.touch()
    os.truncate(file, 3 << 30)
    with pytest.raises(UserError, match="study.json: larger than 4MiB"):
        read(file)
    assert not seal.is_own(tmp_path)


def test_what_was_begun_here_goes_on_without_a_question(tmp_path):
    study = finished(written(tmp_path, ONE_VALUE, ONCE), tmp_path / "out")
    assert seal.is_own(study.path)
    finished(study.path)


@pytest.mark.parametrize("by", ["its directory", "a file of its text"])
def test_what_was_begun_elsewhere_is_shown_and_not_opened(tmp_path, sent, opened, by):
    source, out = (sent, None) if by == "its directory" else (tmp_path / "far.toml", sent)
    with pytest.raises(BegunElsewhere) as shown:
        prepare(source, [], out, executor=ThisHost(machine()))
    for said in (tmp_path / "far.toml", tmp_path / "echo.toml", tmp_path / "sent.so"):
        assert str(said) in shown.value.message
    command = f"windtunnel study {source}" + (f" --out {out}" if out else "")
    assert shown.value.remedy.endswith(f"{command} --from-elsewhere") and not opened


def test_without_a_terminal_it_is_refused(sent, opened):
    error = refused("study", sent)
    assert "not begun by you" in error.message and not opened
    assert "not begun by you" in refused("study", sent, "--plan").message and not opened
    assert "not begun by you" in refused("study", sent.parent / "far.toml", "--out", sent).message and not opened


@pytest.mark.slow
@pytest.mark.parametrize("reply", ["y", "n"])
def test_on_a_terminal_the_user_is_asked(tmp_path, sent, reply):
    code, shown = on_terminal(
        command("study", sent, "--plan"), tmp_path, f"{reply}\n", XDG_STATE_HOME=str(tmp_path / "state")
    )
    assert str(tmp_path / "sent.so") in shown and "Run it as you? [y/N]" in shown
    assert ("cannot be loaded" in shown) == (reply == "y") and code == 2, shown  # it is an empty file


def test_who_agrees_runs_it_and_is_not_asked_again(sent, opened):
    finished(sent, from_elsewhere=True)
    assert opened and seal.is_own(sent)
    finished(sent)


def test_who_agrees_to_a_file_runs_that_file_from_then_on(tmp_path, sent):
    """The record may have named another one with the same text, which its author changes later."""
    file = sent / "study.json"
    document = json.loads(file.read_text())
    for name in ("study", "scenario"):
        document[name]["file"] = f"/tmp/of/the/author/{name}.toml"
    file.write_text(json.dumps(document))
    finished(tmp_path / "far.toml", sent, from_elsewhere=True)
    kept = json.loads(file.read_text())
    assert [kept[name]["file"] for name in ("study", "scenario")] == [
        str(tmp_path / n) for n in ("far.toml", "echo.toml")
    ]
    finished(tmp_path / "far.toml", sent)
    finished(sent)


def test_a_record_that_was_changed_is_not_the_one_that_was_begun_here(tmp_path):
    study = finished(written(tmp_path, ONE_VALUE, ONCE), tmp_path / "out")
    file = study.path / "study.json"
    document = json.loads(file.read_text())
    document["sets"] = ["client.inflight=7"]
    file.write_text(json.dumps(document))
    assert not seal.is_own(study.path)


def test_a_record_that_is_replaced_after_it_was_read_is_not_the_one_that_was_sealed(
    tmp_path, sent, opened, monkeypatch
):
    """Its author has a record of ours, with our seal, and waits until theirs has said what runs."""
    ours = finished(written(tmp_path, ONE_VALUE, ONCE), tmp_path / "ours").path
    shutil.copy(ours / ".seal", sent / ".seal")
    read = records.read_with_bytes

    def read_and_replace(file):
        record = read(file)
        shutil.copy(ours / "study.json", sent / "study.json")
        return record

    monkeypatch.setattr(records, "read_with_bytes", read_and_replace)
    with pytest.raises(BegunElsewhere):
        prepare(sent, [], executor=ThisHost(machine()))
    assert seal.is_own(sent) and not opened


@pytest.mark.parametrize("changed", ["far.toml", "echo.toml"])
@pytest.mark.parametrize("by", ["its directory", "a file of its text"])
def test_what_has_changed_since_it_began_is_not_opened(tmp_path, opened, changed, by):
    (tmp_path / "sent.so").write_text("")
    study = finished(written(tmp_path, ONE_VALUE, ONCE), tmp_path / "out")
    file = tmp_path / changed
    if changed == "far.toml":
        file.write_text(file.read_text() + PLUG_IN)
    else:
        file.write_text(re.sub("handler = .*", 'handler = "./sent.so"', file.read_text()))
    source, out = (study.path, None) if by == "its directory" else (tmp_path / "far.toml", study.path)
    with pytest.raises(UserError, match=r"the study has changed since it began[^§]*sent\.so"):
        prepare(source, [], out, executor=ThisHost(machine()))
    assert not opened


@pytest.mark.parametrize("link", ["runs", "aborted", "results.parquet"])
def test_a_directory_with_a_link_does_not_go_on(tmp_path, link):
    study = finished(written(tmp_path, ONE_VALUE, ONCE), tmp_path / "out")
    if (study.path / link).exists():
        (study.path / link).rename(tmp_path / "elsewhere")
    (study.path / link).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UserError, match=f"{link}: a link, which is not followed"):
        finished(study.path)


@pytest.mark.parametrize("key", ["open to others", "none"])
def test_without_a_key_of_ones_own_nothing_was_begun_here(tmp_path, key):
    study = finished(written(tmp_path, ONE_VALUE, ONCE), tmp_path / "out")
    file = tmp_path / "state" / "windtunnel" / "key"
    file.chmod(0o644) if key == "open to others" else file.unlink()
    assert not seal.is_own(study.path)


@pytest.mark.parametrize(
    ("where", "value"),
    [
        (("points", 0, "name"), "../../elsewhere"),
        (("points", 0, "name"), "/etc"),
        (("points", 0, "number"), 2),
        (("order", 0), [1, 9]),
        (("order", 0), [0]),
    ],
)
def test_a_record_leads_nowhere(tmp_path, where, value):
    study = finished(written(tmp_path, ONE_VALUE, ONCE), tmp_path / "out")
    file = study.path / "study.json"
    document = json.loads(file.read_text())
    inner = document
    for key in where[:-1]:
        inner = inner[key]
    inner[where[-1]] = value
    file.write_text(json.dumps(document))
    with pytest.raises(UserError, match=r"study\.json: "):
        finished(tmp_path / "far.toml", study.path)


@pytest.mark.parametrize("name", ["runs", "aborted"])
def test_a_file_in_the_place_of_a_directory_of_it_is_named(tmp_path, name):
    study = finished(written(tmp_path, ONE_VALUE, ONCE), tmp_path / "out")
    if name == "runs":
        shutil.rmtree(study.path / name)
    else:  # the run that was cut short is to be moved there
        next(study.path.glob("runs/*/run.json")).unlink()
    (study.path / name).touch()
    with pytest.raises(UserError, match=f"out/{name}: cannot be written: File exists"):
        finished(study.path)
