"""Directories below one another, as deep as somebody has made them."""

import os
import subprocess
from pathlib import Path

import pytest
from comparing import made

from windtunnel import tree
from windtunnel.errors import UserError
from windtunnel.index import index
from windtunnel.index.index import files_below
from windtunnel.measure.compare.sides import sides
from windtunnel.measure.study.directory import opened
from windtunnel.tree import MOST_DEPTH, walk, walk_whole

THOUSANDS = 1500
"""More than Python calls one below the other, and a path longer than the kernel takes at once."""


@pytest.fixture
def make_deep(tmp_path):
    """Makes so many directories below one another, in a directory of the test's; rm removes them, since Python cannot."""

    def make(depth: int, root: Path = tmp_path) -> None:
        here = os.getcwd()
        os.chdir(root)
        for _ in range(depth):
            os.mkdir("d")
            os.chdir("d")
        os.chdir(here)

    yield make
    subprocess.run(["rm", "-rf", *tmp_path.iterdir()], check=True)


def test_what_is_deeper_is_left_out_and_all_else_is_seen(tmp_path, make_deep):
    (tmp_path / "near").mkdir()
    (tmp_path / "near" / "file").touch()
    make_deep(THOUSANDS)
    seen = list(walk(tmp_path))
    assert (tmp_path / "near", [], ["file"]) in seen
    assert max(len(place.relative_to(tmp_path).parts) for place, _, _ in seen) == MOST_DEPTH


def test_who_has_to_see_everything_is_told(tmp_path, make_deep):
    make_deep(MOST_DEPTH)
    assert len(list(walk_whole(tmp_path))) == MOST_DEPTH + 1
    tmp_path.joinpath(*"d" * MOST_DEPTH, "e").mkdir()
    with pytest.raises(UserError, match=f"more than {MOST_DEPTH} directories below {tmp_path}"):
        list(walk_whole(tmp_path))


def test_of_many_the_nearest_are_seen_and_the_others_told(tmp_path, monkeypatch):
    (tmp_path / "a" / "b" / "c").mkdir(parents=True)
    for number in range(8):
        (tmp_path / "a" / "b" / str(number)).mkdir()
    made(tmp_path / "z" / "run")
    told: list[str] = []
    near = [place.relative_to(tmp_path).parts for place, _, _ in walk(tmp_path, 9, 6, lambda: told.append("more"))]
    assert [len(parts) for parts in near] == [0, 1, 1, 2, 2, 3] and ("z", "run") in near
    assert told == ["more"]
    assert len(list(walk(tmp_path, 9, 14, lambda: told.append("more")))) == 14 and told == ["more"]
    with monkeypatch.context() as patch:
        patch.setattr(tree, "MOST_NAMES", 5)
        seen = list(walk(tmp_path / "a" / "b", left_out=lambda: told.append("names")))
        assert len(seen) == 1 and len(seen[0][1]) == 5 and told == ["more", "names"]
        with pytest.raises(UserError, match="more than 100,000 directories or 5 names below it"):
            list(walk_whole(tmp_path / "a" / "b"))
    assert list(files_below(tmp_path, lambda: told.append("files"))) == [tmp_path / "z" / "run" / "run.json"]
    monkeypatch.setattr(index, "MOST_FILES", 1)
    assert list(files_below(tmp_path, lambda: told.append("files"))) == [tmp_path / "z" / "run" / "run.json"]
    assert told == ["more", "names", "files"]


def test_runs_beside_it_are_found(tmp_path, make_deep):
    made(tmp_path / "runs" / "one")
    make_deep(THOUSANDS, tmp_path / "runs")
    assert list(files_below(tmp_path)) == [tmp_path / "runs" / "one" / "run.json"]


def test_it_is_refused_as_a_study_and_as_a_side_of_a_comparison(tmp_path, make_deep):
    make_deep(THOUSANDS)
    (tmp_path / "study.json").touch()
    with pytest.raises(UserError, match="more than"), opened(tmp_path):
        pass
    with pytest.raises(UserError, match="more than"):
        sides(tmp_path, tmp_path)
