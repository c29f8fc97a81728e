"""setup/include_circles.py: no circle of modules or rooms in what C and C++ files include."""

import importlib.util
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]


def loaded() -> Any:
    """The script, which is no module of the package."""
    spec = importlib.util.spec_from_file_location("include_circles", ROOT / "setup" / "include_circles.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


include_circles = loaded()


@pytest.fixture
def circles(tmp_path, capsys):
    """What the linter says of files, which are given as names and what each includes."""

    def of(files: dict[str, str]) -> str:
        for name, names in files.items():
            file = tmp_path / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text("".join(f'#include "{included}"\n' for included in names.split()))
        failed = include_circles.main(tmp_path)
        text = capsys.readouterr().out
        assert failed == bool(text)
        return text

    return of


def test_a_source_and_its_header_are_one_module(circles):
    files = {"engine/a/x.h": "", "engine/a/x.cc": "a/x.h a/y.h", "engine/a/y.h": ""}
    assert circles(files) == ""
    text = circles(files | {"engine/a/y.h": "x.h"})
    assert (
        "circle of modules: engine/a/x -> engine/a/y -> engine/a/x" in text
        or "engine/a/y -> engine/a/x -> engine/a/y" in text
    )
    assert "engine/a/x.cc includes a/y.h" in text and "engine/a/y.h includes x.h" in text
    assert "rooms" not in text


def test_rooms_have_a_circle_where_modules_have_none(circles):
    text = circles({"engine/a/x.h": "b/x.h", "engine/b/x.h": "", "engine/b/y.h": "a/z.h", "engine/a/z.h": ""})
    assert "circle of rooms: " in text and "circle of modules" not in text
    assert "engine/a/x.h includes b/x.h" in text and "engine/b/y.h includes a/z.h" in text


def test_a_generated_header_is_in_its_room(circles):
    assert "circle of rooms" in circles({"engine/a/x.h": "b/generated.h", "engine/b/y.h": "a/x.h"})
