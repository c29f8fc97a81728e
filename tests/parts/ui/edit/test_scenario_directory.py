"""Files below one directory: no name leads out of it, and nothing is overwritten."""

import os

import pytest

from windtunnel.errors import UserError
from windtunnel.parts.ui.edit.scenario_directory import MOST_DEPTH, MOST_LISTED, ScenarioDirectory

MOST = 100


@pytest.fixture
def below(tmp_path):
    (tmp_path / "outside.toml").write_text("secret")
    root = tmp_path / "root"
    (root / "sub").mkdir(parents=True)
    (root / "a.toml").write_text("a")
    (root / "sub" / "b.toml").write_text("b")
    (root / "link.toml").symlink_to(tmp_path / "outside.toml")
    (root / "away").symlink_to(tmp_path)
    os.mkfifo(root / "fifo.toml")
    return ScenarioDirectory(root)


def test_files_are_listed_and_links_are_not(below):
    (below.root / ".hidden").mkdir()
    (below.root / ".hidden" / "c.toml").write_text("c")
    assert list(below.listed(".toml")) == ["a.toml", "sub/b.toml"]


def test_a_list_has_an_end(below):
    deep = below.root.joinpath(*["d"] * (MOST_DEPTH + 1))
    deep.mkdir(parents=True)
    (deep / "deep.toml").write_text("")
    assert "deep.toml" not in " ".join(below.listed(".toml"))
    for number in range(MOST_LISTED + 5):
        (below.root / f"n{number}.toml").write_text("")
    assert len(list(below.listed(".toml"))) == MOST_LISTED


def test_what_is_below_runs_and_studies_is_not_looked_at(below, monkeypatch):
    for name in ("runs/x/c.toml", "study/runs-of-it/one/d.toml", "study/e.toml"):
        (below.root / name).parent.mkdir(parents=True, exist_ok=True)
        (below.root / name).write_text("")
    (below.root / "study" / "study.json").touch()
    assert list(below.listed(".toml")) == ["a.toml", "study/e.toml", "sub/b.toml"]
    monkeypatch.setattr("windtunnel.parts.ui.edit.scenario_directory.MOST_DIRECTORIES", 2)
    assert list(below.listed(".toml")) == ["a.toml", "study/e.toml"]


def test_a_name_that_is_no_text_is_not_listed(below):
    with open(os.fsencode(below.root) + b"/\xff.toml", "w"):
        pass
    assert list(below.listed(".toml")) == ["a.toml", "sub/b.toml"]


def test_a_file_is_read(below):
    assert below.read("sub/b.toml", MOST) == b"b"


@pytest.mark.parametrize(
    "name",
    [
        "",
        ".",
        "/etc/passwd",
        "../outside.toml",
        "sub/../../outside.toml",
        "link.toml",
        "away/outside.toml",
        "fifo.toml",
        "sub",
        "none.toml",
        "a.toml/x",
        "a\0.toml",
        "\udcff.toml",
        "x" * 5000,
    ],
)
def test_nothing_else_is_read_or_made(below, name):
    with pytest.raises(UserError):
        below.read(name, MOST)
    before = sorted(os.walk(below.root))
    if name != "none.toml":
        with pytest.raises(UserError):
            below.write_new(name, b"new")
    assert sorted(os.walk(below.root)) == before
    assert (below.root.parent / "outside.toml").read_text() == "secret"


def test_what_is_larger_is_refused(below):
    (below.root / "a.toml").write_text("x" * (MOST + 1))
    with pytest.raises(UserError, match="larger"):
        below.read("a.toml", MOST)


def test_a_file_is_made_once(below):
    assert below.write_new("sub/new.toml", b"one") == below.root / "sub" / "new.toml"
    with pytest.raises(UserError, match="exists already"):
        below.write_new("sub/new.toml", b"two")
    assert (below.root / "sub" / "new.toml").read_text() == "one"


def test_what_a_file_needs_is_made_beside_it(below):
    below.write_new("one.toml", b"one", {"frames.pcap": b"frames"})
    below.write_new("two.toml", b"two", {"frames.pcap": b"frames"})
    assert (below.root / "frames.pcap").read_bytes() == b"frames"
    with pytest.raises(UserError, match="frames.pcap: exists already"):
        below.write_new("three.toml", b"three", {"frames.pcap": b"others"})
    assert not (below.root / "three.toml").exists()
