"""./test in a copied tree, with fakes in place of every tool that installs, builds or tests."""

from pathlib import Path

import pytest
from setup_tree import Tree, copied_tree

tree = pytest.fixture(copied_tree)


def test_the_test_command_passes_its_arguments_and_ends_with_pytest(tree: Tree) -> None:
    done = tree.run(str(tree.checkout / "test"), "-k", "two words", cwd=Path("/"))
    assert done.returncode == 0, done.stderr
    called = tree.log
    assert "ninja all" in called
    assert called[-3] == "meson test"
    assert called[-2].startswith("pytest --basetemp ") and " -n " in called[-2] and called[-2].endswith(" -k two words")
    assert called[-1].startswith("pytest --basetemp ") and called[-1].endswith(" --alone -k two words")
    assert done.stdout.splitlines()[-1] == "1 passed in 0.01s"


def test_what_tests_import_is_compiled_once_and_not_by_each_of_their_processes(tree: Tree) -> None:
    tree.run("./test")
    assert tree.log.count("pytest --collect-only -q") == 1
    (tree.checkout / "tests" / "__pycache__").mkdir()
    tree.run("./test")
    assert "pytest --collect-only -q" not in tree.log


def test_pythons_keep_their_bytecode_whatever_the_environment_says(tree: Tree) -> None:
    """The packages come without, and what keeps none compiles all that it imports, at each start."""
    tree.environment["PYTHONDONTWRITEBYTECODE"] = "1"
    tree.run("./test")
    assert not any("without bytecode" in line for line in tree.log)


@pytest.mark.parametrize("status", [0, 1])
def test_files_of_tests_stay_where_one_failed(tree: Tree, status: int) -> None:
    tree.environment["PYTEST"] = str(status)
    done = tree.run("./test", "quick")
    assert done.returncode == status
    assert [directory.is_dir() for directory in tree.left] == [True] * status


def test_quick_is_linters_and_unit_tests(tree: Tree) -> None:
    done = tree.run("./test", "quick", "-x")
    assert done.returncode == 0, done.stderr
    called = tree.log
    assert called[-2] == "meson test --no-suite fuzz --no-suite slow"
    assert " tests/unit tests/parts sharing/tests/unit -n " in called[-1] and called[-1].endswith(" -m not slow -x")
    for linter in ("ruff", "mypy", "imports", "clang-format", "docs"):
        assert f"{linter}: ok" in done.stderr
    assert "clang-tidy" not in done.stderr


def test_fuzz_takes_seconds_and_nothing_else_runs(tree: Tree) -> None:
    done = tree.run("./test", "fuzz", "7")
    assert done.returncode == 0, done.stderr
    assert "ruff:" not in done.stderr and tree.log[-1] == "meson test --suite fuzz --timeout-multiplier 0"


def test_long_runs_the_named_slices_and_counts_them(tree: Tree) -> None:
    tree.environment["PYTEST"] = "1"
    done = tree.run("./test", "long", "crosses", "fuzz")
    assert done.returncode == 1
    exhaustive, side_by_side, alone, fuzz = tree.log[-4:]
    assert exhaustive == "meson test --suite long"
    assert " -n " in side_by_side and side_by_side.endswith(" --long crosses")
    assert " -n " not in alone and alone.endswith(" --alone --long crosses")
    assert fuzz == "meson test --suite fuzz --timeout-multiplier 0"
    assert "failed: crosses" in done.stderr and done.stdout.splitlines()[-1] == "slices: 1 passed, 1 failed"


def test_a_slice_that_does_not_exist_is_refused_before_any_runs(tree: Tree) -> None:
    done = tree.run("./test", "long", "crosses", "corners")
    assert done.returncode == 2 and "there is no slice corners" in done.stderr
    assert not any(call.startswith("pytest") for call in tree.log)


@pytest.fixture
def parts(tree: Tree) -> Tree:
    """The tree with two parts, and fakes of what clones it and takes a part out."""
    for part in ("copies", "tables"):
        (tree.checkout / "src/windtunnel/parts" / part).mkdir(parents=True)
        (tree.checkout / "src/windtunnel/parts" / part / "__init__.py").touch()
    remove = (
        '#!/usr/bin/env bash\necho "remove-part $1 in ${PYTHONPATH%/src}" >>"$LOG"; echo "# less" >>pyproject.toml\n'
    )
    (tree.checkout / "setup/remove-part").write_text(remove)
    tree.replace("git", '[[ $1 == clone ]] || { echo "$COMMITS"; exit; }; cp -r "${@: -2}"; rm -r "${@: -1}/.venv"')
    return tree


@pytest.mark.parametrize(
    ("slices", "commits", "part"),
    [
        ("parts", "10", "tables"),
        ("--rotate", "7", "copies"),
        ("--rotate", "15", "tables"),
        ("--rotate", "23", "copies"),
    ],
)
def test_another_part_is_taken_out_each_time_in_a_clone_with_the_same_environment(
    parts: Tree, slices: str, commits: str, part: str
) -> None:
    """Of the eight slices that CI runs in turn, this is the last one."""
    parts.environment["COMMITS"] = commits
    done = parts.run("./test", "long", slices)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "slices: 1 passed, 0 failed"
    log = parts.log
    [place] = [call.partition(" in ")[2] for call in log if call.startswith(f"remove-part {part} in ")]
    assert place != str(parts.checkout) and not Path(place).exists()
    assert log.count("venv") == 1
    assert " tests/unit tests/parts sharing/tests/unit -n " in log[-1] and log[-1].endswith(" -m not slow")


def test_all_of_the_suite_is_tried_without_a_part_if_that_is_asked_for(parts: Tree) -> None:
    done = parts.run("./test", "long", "parts", "tables", "all")
    assert done.returncode == 0, done.stderr
    log = parts.log
    assert any(call.startswith("remove-part tables in ") for call in log) and log[-1].endswith(" --alone")


def test_lint_runs_the_named_linters_and_shows_their_findings(tree: Tree) -> None:
    tree.environment["CONTENT"] = "no"
    done = tree.run("./test", "lint", "mypy")
    assert done.returncode == 1
    assert "mypy: line 7 is wrong\nmypy: not content" in done.stderr and "ruff" not in done.stderr
    assert not any(call.startswith("pytest") for call in tree.log)


def test_a_linter_finding_fails_the_suite_after_the_tests(tree: Tree) -> None:
    tree.environment["CONTENT"] = "no"
    done = tree.run("./test")
    assert done.returncode == 1
    assert done.stdout.splitlines()[-1] == "1 passed in 0.01s"
    assert "linters are not content" in done.stderr


def test_a_failed_build_is_shown_and_ends_the_suite(tree: Tree) -> None:
    tree.replace("ninja", "echo 'app_tx.cc:7: error'; exit 1")
    done = tree.run("./test")
    assert done.returncode == 1
    assert "app_tx.cc:7: error\nthe build failed" in done.stderr
    assert not any(call.startswith("pytest --basetemp") for call in tree.log)


def test_help_of_the_test_command_sets_nothing_up(tree: Tree) -> None:
    done = tree.run("./test", "--help")
    assert done.returncode == 0 and "./test quick" in done.stdout
    assert tree.log == []


@pytest.mark.parametrize(("unit_tests", "python_tests", "status"), [("1", "0", 1), ("0", "5", 5), ("3", "1", 3)])
def test_the_test_command_fails_when_either_part_fails(
    tree: Tree, unit_tests: str, python_tests: str, status: int
) -> None:
    tree.environment |= {"UNIT_TESTS": unit_tests, "PYTEST": python_tests}
    done = tree.run("./test")
    assert done.returncode == status
    assert tree.log[-1].startswith("pytest")
