"""`windtunnel migrate`, and the refusal of a file with old names."""

import json
import os
import stat
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windtunnel.cli import migrate
from windtunnel.errors import UserError
from windtunnel.scenario import load, migration
from windtunnel.scenario.migration import NotRewritten, migrated
from windtunnel.scenario.renames import KEYS, renamed

OLD = """\
# What does it cost?   (a question with "server.answer" in it)
validity.slower = 0.5   # a lot
"server" . 'answer' = "new"
[wire]
kind = "ring"     # answer = 1 is a comment

[[workload]]
handler = "l_app"
"""
STUDY = """\
# Which?
scenario = "old.toml"
figures = ["p99", 'answered_per_s']
[set]
"server.answer" = "new"
[set.validity]
marked = 1
[[factor]]
keys = ["server.answer", "client.inflight"]   # both
values = [["new", 1]]
[full]
figures = ["answered"]
set = { validity.drift = 1, server = { answer = "request" } }
"""


def test_migrate_replaces_names_only(typed, tmp_path):
    file = tmp_path / "old.toml"
    file.write_text(OLD)
    file.chmod(0o640)
    done = typed("migrate", file)
    assert done.returncode == 0, done.stderr
    assert done.stdout == (
        f"{file}:2: slower -> max_slowdown\n{file}:3: answer -> response_mbuf\n"
        f"{file}: rewritten, old text in {file}.orig\n"
    )
    assert file.read_text() == OLD.replace("validity.slower", "validity.max_slowdown").replace(
        "'answer'", "'response_mbuf'"
    )
    assert (tmp_path / "old.toml.orig").read_text() == OLD
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    scenario = load(file)
    assert scenario.validity.max_slowdown == 0.5 and scenario.server.response_mbuf == "new"


def test_a_study_with_keys_of_its_scenario():
    new, edits = migrated(STUDY)
    data = tomllib.loads(new)
    assert data["metrics"] == ["p99", "responses_per_s"] and data["full"]["metrics"] == ["responses"]
    assert data["set"] == {"server.response_mbuf": "new", "validity": {"max_excluded_windows": 1}}
    assert data["full"]["set"] == {"validity": {"max_drift": 1}, "server": {"response_mbuf": "request"}}
    assert data["factor"][0]["keys"] == ["server.response_mbuf", "client.inflight"]
    assert "# both" in new and len(edits) == 9
    assert migrated(new) == (new, [])


def test_who_may_not_read_the_file_may_not_read_the_old_one(typed, tmp_path):
    file = tmp_path / "old.toml"
    file.write_text(OLD)
    file.chmod(0o600)
    typed("migrate", file)
    assert {each.stat().st_mode & 0o777 for each in tmp_path.glob("old.toml*")} == {0o600}


def test_backups_are_never_overwritten(typed, tmp_path):
    file = tmp_path / "old.toml"
    (tmp_path / "old.toml.orig").write_text("precious")
    file.write_text(OLD)
    assert f"old text in {file}.orig.1" in typed("migrate", file).stdout
    assert (tmp_path / "old.toml.orig").read_text() == "precious"
    assert (tmp_path / "old.toml.orig.1").read_text() == OLD
    assert typed("migrate", file).stdout == f"{file}: no old names\n"
    assert len(list(tmp_path.iterdir())) == 3


def test_a_name_for_the_old_text_is_not_sought_without_end(typed, tmp_path):
    file = tmp_path / "old.toml"
    file.write_text(OLD)
    for number in range(migrate.MOST_OLD):
        (tmp_path / f"old.toml.orig{f'.{number}' if number else ''}").symlink_to("nowhere")
    done = typed("migrate", file)
    assert done.returncode == 2 and "old.toml.orig: exists already, and 99 more" in done.stderr
    assert file.read_text() == OLD


def test_the_new_text_is_private_from_the_beginning(typed, tmp_path, monkeypatch):
    """Who opens a file may read what comes into it later."""
    file = tmp_path / "old.toml"
    file.write_text(OLD)
    file.chmod(0o600)
    seen = []
    monkeypatch.setattr(Path, "chmod", lambda made, _: seen.append(stat.S_IMODE(made.stat().st_mode)))
    migrate._rewrite(file)
    assert seen == [0o600]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
@pytest.mark.parametrize(("owner", "mode"), [(None, 0o777), (54321, 0o755)])
def test_the_new_file_gives_nobody_the_rights_of_who_migrates(tmp_path, owner, mode):
    """Another user would run what they write into it as its new owner, or change it."""
    file = tmp_path / "old.toml"
    file.write_text(OLD)
    os.chown(file, -1 if owner is None else owner, -1)
    file.chmod(0o6777)
    migrate._rewrite(file)
    assert stat.S_IMODE(file.stat().st_mode) == mode


def test_what_took_the_name_of_the_file_is_not_replaced(tmp_path, monkeypatch):
    """A link of another user may lead to a file of ours by then."""
    ours, link, old = tmp_path / "ours", tmp_path / "link.toml", tmp_path / "old.toml"
    ours.write_text("ours")
    old.write_text(OLD)
    link.symlink_to(old)

    def swap(text):
        link.unlink()
        link.symlink_to(ours)
        return migrated(text)

    monkeypatch.setattr(migration, "migrated", swap)
    with pytest.raises(UserError, match="changed meanwhile"):
        migrate._rewrite(link)
    assert ours.read_text() == "ours" and old.read_text() == OLD
    assert sorted(each.name for each in tmp_path.iterdir()) == ["link.toml", "old.toml", "ours"]


def test_stdout_changes_no_file(typed, tmp_path):
    file = tmp_path / "old.toml"
    file.write_text(OLD)
    assert typed("migrate", file, "--stdout").stdout == migrated(OLD)[0]
    assert file.read_text() == OLD and len(list(tmp_path.iterdir())) == 1


def test_files_that_cannot_be_rewritten_stay_unchanged(typed, tmp_path):
    good, both, none = tmp_path / "good.toml", tmp_path / "both.toml", tmp_path / "none.toml"
    good.write_text(OLD)
    both.write_text('[server]\nanswer = "new"\nresponse_mbuf = "new"\n')
    none.write_text("[[[")
    done = typed("migrate", both, none, "gone.toml", good)
    assert done.returncode == 2
    assert f'error: {both}:2: "answer" and its new name "response_mbuf" are both in the file' in done.stderr
    assert f"error: {none}:1: " in done.stderr and "error: gone.toml: no such file" in done.stderr
    assert f"{good}: rewritten" in done.stdout and "response_mbuf" in good.read_text()
    assert both.read_text() == '[server]\nanswer = "new"\nresponse_mbuf = "new"\n' and none.read_text() == "[[["


@pytest.mark.parametrize("key", KEYS)
def test_an_old_name_is_refused_at_its_line_with_its_new_name(tmp_path, key):
    file = tmp_path / "old.toml"
    file.write_text(f"# Why?\n{'.'.join(key)} = 1\n[[workload]]\nhandler = 'l_app'\n")
    with pytest.raises(UserError) as caught:
        load(file)
    assert caught.value.message == f'{file}:2: {".".join(key)} is now called "{KEYS[key]}"'
    assert caught.value.remedy == f"windtunnel migrate {file}"


def test_an_old_name_of_the_command_line(typed, scenario):
    done = typed("check", scenario, "--set", "server.answer=new")
    assert done.returncode == 2
    assert done.stderr.startswith('error: --set server.answer=new: server.answer is now called "response_mbuf"\n')
    assert "remedy: --set server.response_mbuf=VALUE\n" in done.stderr


def test_an_old_name_in_a_study(typed, tmp_path):
    (tmp_path / "study.toml").write_text(STUDY)
    done = typed("study", "study.toml", "--plan")
    assert done.returncode == 2 and "remedy: windtunnel migrate study.toml" in done.stderr
    assert 'error: study.toml:3: figures is now called "metrics" (8 more old names)' in done.stderr


@given(
    st.dictionaries(
        st.sampled_from(["answer", "a b", "response", "x"]),
        st.one_of(st.integers(), st.text(max_size=5), st.lists(st.just("answer"), max_size=2)),
        max_size=3,
    ),
    st.sampled_from(["[server]\n", "[ 'server' ]\n", "[[workload]]\n", ""]),
    st.sampled_from([" = ", "=", "   =\t"]),
)
def test_the_new_text_means_what_the_old_one_means(keys, header, sign):
    text = header + "".join(f"{json.dumps(key)}{sign}{json.dumps(value)} # {key}\n" for key, value in keys.items())
    try:
        old = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return  # an escape of JSON that TOML has not
    new, _ = migrated(text)
    assert tomllib.loads(new) == renamed(old)


def test_old_and_new_name_in_one_table_are_not_migrated():
    with pytest.raises(NotRewritten):
        migrated('server = { answer = "new", response_mbuf = "new" }\n')
