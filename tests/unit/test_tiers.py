"""What a slice of the long tier is made of, and the files that one process has."""

import re
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

TESTS = Path(__file__).parents[1]


@pytest.fixture
def selection(request) -> ModuleType:
    """tests/conftest.py, which pytest has imported."""
    plugins = request.config.pluginmanager.get_plugins()
    return next(plugin for plugin in plugins if getattr(plugin, "__file__", None) == str(TESTS / "conftest.py"))


def slices_of(file: Path) -> set[str]:
    return set(re.findall(r'long\("(.+?)"\)', file.read_text()))


def test_a_slice_is_looked_for_in_every_file_that_has_marks_of_it_and_in_those_that_import_them(selection):
    givers = {file.stem: slices_of(file) for file in (TESTS / "support").glob("*.py") if slices_of(file)}
    assert givers
    for file in TESTS.glob("*/**/test_*.py"):
        imported = re.findall(r"^(?:from|import) (\w+)", file.read_text(), re.MULTILINE)
        for name in slices_of(file).union(*(givers.get(module, set()) for module in imported)):
            config = SimpleNamespace(option=SimpleNamespace(long=name, alone=False))
            assert selection.pytest_ignore_collect(file, config) is None, f"{file}: {name}"


def test_files_that_want_the_same_for_themselves_are_of_one_process(selection):
    of_rdma, of_sharing = (
        {selection.scope_of(TESTS / name) for name in names}
        for names in (
            ("e2e/test_rdma.py", "e2e/test_rdma_compare.py"),
            ("unit/sharing/test_daemon.py", "unit/sharing/test_left_out.py", "hostile/test_other_user_share.py"),
        )
    )
    assert len(of_rdma) == len(of_sharing) == 1 and of_rdma != of_sharing
    assert selection.scope_of(Path(__file__)) == str(Path(__file__))
