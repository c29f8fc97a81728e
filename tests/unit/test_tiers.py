"""What a slice of the long tier is made of, and the files that one process has."""

import re
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

TESTS = Path(__file__).parents[1]
SHARING = TESTS.parent / "sharing" / "tests"


@pytest.fixture
def selection(request) -> ModuleType:
    """conftest.py, which pytest has imported."""
    plugins = request.config.pluginmanager.get_plugins()
    return next(plugin for plugin in plugins if getattr(plugin, "__file__", None) == str(TESTS.parent / "conftest.py"))


def slices_of(file: Path) -> set[str]:
    return set(re.findall(r'long\("(.+?)"\)', file.read_text()))


def test_a_slice_is_looked_for_in_every_file_that_has_marks_of_it_and_in_those_that_import_them(selection):
    supports = [*(TESTS / "support").glob("*.py"), *(SHARING / "support").glob("*.py")]
    givers = {file.stem: slices_of(file) for file in supports if slices_of(file)}
    assert givers
    for file in (*TESTS.glob("*/**/test_*.py"), *SHARING.glob("*/**/test_*.py")):
        imported = re.findall(r"^(?:from|import) (\w+)", file.read_text(), re.MULTILINE)
        for name in slices_of(file).union(*(givers.get(module, set()) for module in imported)):
            config = SimpleNamespace(option=SimpleNamespace(long=name, alone=False))
            assert selection.pytest_ignore_collect(file, config) is None, f"{file}: {name}"


def test_files_that_want_the_same_for_themselves_are_of_one_process(selection, tmp_path):
    on_loopback = [tmp_path / name for name in ("test_one.py", "test_other.py")]
    for file in on_loopback:
        file.write_text('pytestmark = pytest.mark.usefixtures("loopback_addresses")\n')
    of_sharing = ("unit/test_daemon.py", "unit/test_left_out.py", "hostile/test_other_user_share.py")
    scopes = [
        {selection.scope_of(file) for file in files} for files in (on_loopback, [SHARING / name for name in of_sharing])
    ]
    assert [len(of_group) for of_group in scopes] == [1, 1] and scopes[0] != scopes[1]
    alone = TESTS / "unit/test_words.py"
    assert selection.scope_of(alone) == str(alone)
