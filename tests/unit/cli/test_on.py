"""Which executor --on opens: that of a part, that of another package, or none."""

import sys
from contextlib import nullcontext
from importlib.metadata import EntryPoint
from types import SimpleNamespace

import pytest

from windtunnel.cli import on
from windtunnel.engine.find import to_install
from windtunnel.errors import UserError


@pytest.fixture
def parts(monkeypatch):
    """Parts that bring an executor: none yet."""
    modules = []
    monkeypatch.setattr(on, "part_modules", lambda name: modules)
    return modules


def part(monkeypatch, name="lab_part", **contents):
    module = SimpleNamespace(__name__=name, EXTRA="lab", **contents)
    monkeypatch.setitem(sys.modules, name, module)
    return module


@pytest.fixture
def other_package(monkeypatch):
    """Another package with an executor of the name "slurm"."""
    module = SimpleNamespace(opened=noting("slurm"))
    monkeypatch.setitem(sys.modules, "of_slurm", module)
    point = EntryPoint("slurm", "of_slurm:opened", on.GROUP)
    monkeypatch.setattr(on, "entry_points", lambda group, name: [point] * ((group, name) == (on.GROUP, "slurm")))


def noting(name):
    """Opens an executor that is only a text: who made it, and from what."""
    return lambda value, most, say: nullcontext(f"{name}: {value}, {most}")


@pytest.mark.parametrize(
    ("value", "opened"), [("slurm://a", "slurm"), ("slurm", "lab"), ("slurm:1", "lab"), ("x://a", "lab")]
)
def test_a_name_is_for_the_executor_of_another_package_and_the_rest_for_a_part(
    monkeypatch, parts, other_package, value, opened
):
    parts.append(part(monkeypatch, opened=noting("lab")))
    with on.executor(value, 3) as executor:
        assert executor == f"{opened}: {value}, 3"


@pytest.mark.parametrize("value", ["x", "x://a"])
def test_without_an_executor_it_is_refused(parts, value):
    with pytest.raises(UserError) as refused, on.executor(value):
        pass
    assert refused.value.message == f"--on {value}: this installation has no executor for other hosts"
    assert on.GROUP in refused.value.remedy


def test_a_missing_package_is_named_with_what_installs_it(monkeypatch, parts):
    def opened(value, most, say):
        raise ModuleNotFoundError("No module named 'rays'", name="rays")

    parts.append(part(monkeypatch, opened=opened))
    with pytest.raises(UserError) as refused, on.executor("auto"):
        pass
    assert refused.value.message == '--on needs the Python package "rays"'
    assert refused.value.remedy == to_install("lab")


def test_without_the_option_it_is_this_host():
    with on.executor(None) as executor:
        assert executor is None
