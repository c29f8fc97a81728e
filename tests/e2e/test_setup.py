"""The launcher and setup/lib.sh in a copied tree, with fakes in place of every tool that installs or builds."""

import os
import subprocess
from pathlib import Path

import pytest
from setup_tree import CHECKOUT, NOBODY, Tree, copied_tree

tree = pytest.fixture(copied_tree)


def test_before_quickstart_other_commands_name_it(tree: Tree) -> None:
    for command in (["run", "scenarios/echo.toml"], ["run", "--help"], []):
        done = tree.run("./windtunnel", *command)
        assert done.returncode == 2
        assert "run ./windtunnel quickstart" in done.stderr
    assert tree.log == []


@pytest.mark.skipif(os.geteuid() != 0, reason="others than root keep theirs")
def test_root_takes_no_configuration_of_pip_from_whoever_called_su() -> None:
    kept = 'root=$0; source "$root/setup/lib.sh"; printf %s "${XDG_CONFIG_HOME-none}"'
    how = {"env": os.environ | {"XDG_CONFIG_HOME": "/home/other"}, "capture_output": True, "text": True}
    assert subprocess.run(["bash", "-c", kept, CHECKOUT], check=True, **how).stdout == "none"


def test_after_quickstart_commands_run_in_the_callers_directory(tree: Tree) -> None:
    tree.quickstart()
    link = tree.top / "link"
    link.symlink_to(tree.checkout / "windtunnel")
    done = tree.run(str(link), "show", "a b", cwd=Path("/"))
    assert (done.returncode, done.stdout) == (0, "run show a b in /\n")


@pytest.mark.parametrize("command", [["--help"], ["-h"], []])
def test_after_quickstart_help_still_lists_it(tree: Tree, command: list[str]) -> None:
    tree.quickstart()
    done = tree.run("./windtunnel", *command)
    assert done.stdout.startswith("In this checkout:\n  quickstart ")
    assert done.stdout.endswith(f"run {' '.join(command)} in {tree.checkout.resolve()}\n")


def test_the_launcher_says_how_it_was_called(tree: Tree) -> None:
    tree.quickstart()
    command = tree.checkout / ".venv" / "bin" / "windtunnel"
    command.write_text('#!/usr/bin/env bash\necho "$WINDTUNNEL_TYPED"\n')
    assert tree.run("./windtunnel", "show", "a").stdout == "./windtunnel\n"


@pytest.mark.parametrize(("response", "status"), [("n\n", 2), ("\n", 0)])
@pytest.mark.parametrize("lacking", [(), ("libdpdk",)])
def test_the_suite_says_what_it_installs_and_asks_once(
    tree: Tree, response: str, status: int, lacking: tuple[str, ...]
) -> None:
    tree.lacks(*lacking)
    tree.environment["SUDO"] = "yes"
    done = tree.at_terminal(response, "./test", "quick")
    assert done.returncode == status, done.stderr
    assert done.stderr.count("[Y/n]") == 1
    assert "13 to 30 minutes" in done.stderr
    assert ("venv" in tree.log) == (status == 0)


def test_the_suite_asks_nothing_without_a_terminal_or_the_second_time(tree: Tree) -> None:
    first, second = tree.run("./test", "quick"), tree.run("./test", "quick")
    assert (first.returncode, second.returncode) == (0, 0)
    assert "[Y/n]" not in first.stderr and "13 to 30 minutes" in first.stderr
    assert "13 to 30 minutes" not in second.stderr


def packages(checkout: Path, purpose: str) -> list[str]:
    """What pip is told: the packages that are locked, and then the checkout."""
    return [f"pip {checkout}/setup/requirements/{purpose}.txt", f"pip {checkout}/sharing"]


def test_quickstart_sets_up_builds_and_runs_in_the_checkout_from_anywhere(tree: Tree) -> None:
    done = tree.run(str(tree.checkout / "windtunnel"), "quickstart", "--quiet", cwd=Path("/"))
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"run run scenarios/echo.toml --quiet in {tree.checkout.resolve()}\n"
    assert tree.log == ["venv", *packages(tree.checkout, "run"), "meson setup", "ninja quickstart"]


def test_an_unknown_option_is_refused_before_the_build(tree: Tree) -> None:
    tree.quickstart()
    (tree.checkout / ".venv/bin/windtunnel").write_text("#!/usr/bin/env bash\n[[ $* != *--yes*--help ]] || exit 2\n")
    assert "ninja quickstart" in tree.log
    tree.quickstart("--yes", code=2)
    assert not any(call.startswith("ninja") for call in tree.log)


@pytest.mark.parametrize("command", ["windtunnel quickstart", "test", "test quick", "test lint", "test lock"])
def test_no_tool_is_called_where_the_caller_is(tree: Tree, command: str) -> None:
    """`python -m venv` takes a venv.py that lies there, pip a pip/, pytest a pytest.ini, meson its native files."""
    for tool in ("python3", "meson", "ninja", "pkg-config", "clang"):
        text = (tree.top / "bin" / tool).read_text()
        (tree.top / "bin" / tool).write_text(
            text.replace("#!/usr/bin/env bash\n", '#!/usr/bin/env bash\npwd >>"$PLACES"\n')
        )
    places, elsewhere = tree.top / "places", tree.top / "elsewhere"
    places.touch()
    places.chmod(0o666)
    elsewhere.mkdir()
    tree.environment["PLACES"] = str(places)
    name, *words = command.split()
    tree.run(str(tree.checkout / name), *words, cwd=elsewhere)
    called = places.read_text().splitlines()
    assert len(called) > 1 and set(called) == {str(tree.checkout.resolve())}


@pytest.mark.parametrize(
    "command", [["quickstart", "--quiet", "-h"], ["quickstart", "--quiet", "--help"], ["-h"], ["--help"]]
)
def test_help_of_quickstart_sets_nothing_up(tree: Tree, command: list[str]) -> None:
    tree.lacks("libdpdk")
    done = tree.run("./windtunnel", *command)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("Usage: ./windtunnel quickstart [OPTION...]\n")
    assert tree.log == [] and not (tree.checkout / ".venv").exists()


@pytest.mark.parametrize("build_name", ["", "."], ids=["meson-1.0", "meson-1.7"])
def test_a_second_quickstart_needs_no_network(tree: Tree, build_name: str) -> None:
    tree.environment["BUILD_NAME"] = build_name
    tree.quickstart()
    assert tree.log
    tree.environment["NETWORK"] = "no"
    tree.quickstart()
    assert tree.log == ["ninja quickstart"]


def test_quickstart_without_a_network_says_so_and_can_be_repeated(tree: Tree) -> None:
    tree.environment["NETWORK"] = "no"
    done = tree.quickstart(code=1)
    assert "needs a network" in done.stderr
    assert tree.log == ["venv", packages(tree.checkout, "run")[0]]
    tree.environment["NETWORK"] = "yes"
    tree.quickstart()
    assert tree.log[:3] == ["venv", *packages(tree.checkout, "run")]


def test_a_changed_pyproject_recreates_the_environment(tree: Tree) -> None:
    tree.quickstart()
    with open(tree.checkout / "pyproject.toml", "a") as file:
        file.write("# changed\n")
    assert tree.log
    tree.quickstart()
    assert tree.log[:3] == ["venv", *packages(tree.checkout, "run")]


@pytest.mark.parametrize("build_name", ["", "."], ids=["meson-1.0", "meson-1.7"])
def test_a_moved_checkout_is_set_up_anew(tree: Tree, build_name: str) -> None:
    tree.environment["BUILD_NAME"] = build_name
    tree.quickstart()
    leftover = tree.checkout / "build" / "leftover"
    leftover.touch()
    moved = tree.top / "moved"
    tree.checkout.rename(moved)
    assert tree.log
    tree.quickstart(cwd=moved)
    assert tree.log == ["venv", *packages(moved, "run"), "meson setup", "ninja quickstart"]
    assert not (moved / "build" / "leftover").exists()


def test_an_environment_that_is_a_link_is_not_cleared(tree: Tree) -> None:
    tree.quickstart()
    elsewhere = tree.top / "elsewhere"
    (tree.checkout / ".venv").rename(elsewhere)
    (tree.checkout / ".venv").symlink_to(elsewhere)
    before = sorted(elsewhere.rglob("*"))
    with open(tree.checkout / "pyproject.toml", "a") as file:
        file.write("# changed\n")
    assert ".venv is a link" in tree.quickstart(code=2).stderr
    assert sorted(elsewhere.rglob("*")) == before


def test_a_library_that_came_later_is_built_with(tree: Tree) -> None:
    tree.lacks("libfabric")
    tree.quickstart()
    assert tree.log
    tree.lacks()
    tree.quickstart()
    assert tree.log == ["meson setup", "ninja quickstart"]
    tree.quickstart()
    assert tree.log == ["ninja quickstart"]


def test_the_test_environment_extends_the_runtime_environment(tree: Tree) -> None:
    tree.quickstart()
    assert tree.log
    tree.run("./test")
    assert set(packages(tree.checkout, "test")) <= set(tree.log)
    tree.quickstart()
    assert tree.log == ["ninja quickstart"]


def test_without_rights_the_exact_command_is_printed(tree: Tree) -> None:
    tree.lacks("libdpdk", "zlib")
    for command in ("./windtunnel", "quickstart"), ("./test",):
        done = tree.run(*command)
        assert done.returncode == 2
        assert "missing: libdpdk-dev zlib1g-dev\n" in done.stderr
        install = "sudo apt-get update && sudo apt-get install --no-install-recommends libdpdk-dev zlib1g-dev\n"
        assert f"type: {install}" in done.stderr
        assert tree.log == ["sudo -n"]


def test_without_sudo_the_command_is_for_root(tree: Tree) -> None:
    tree.lacks("gtest")
    tree.without("sudo")
    done = tree.quickstart(code=2)
    install = "apt-get update && apt-get install --no-install-recommends libgtest-dev\n"
    assert f"as root, type: {install}" in done.stderr


def test_on_other_systems_what_is_needed_is_named(tree: Tree) -> None:
    tree.lacks("libdpdk")
    tree.without("apt-get")
    done = tree.quickstart(code=2)
    assert "libdpdk-dev" in done.stderr
    assert "DPDK >= 22.11" in done.stderr


def test_sudo_without_a_password_installs_without_a_question(tree: Tree) -> None:
    tree.lacks("libdpdk")
    tree.environment["SUDO"] = "yes"
    tree.quickstart()
    calls = [call for call in tree.log if call.startswith("apt-get")]
    assert calls == [
        "apt-get -q update frontend=noninteractive",
        "apt-get -q install -y --no-install-recommends libdpdk-dev frontend=noninteractive",
    ]


def test_root_installs_without_sudo(tree: Tree) -> None:
    tree.lacks("libdpdk")
    tree.quickstart(root=True)
    calls = tree.log
    assert "apt-get -q install -y --no-install-recommends libdpdk-dev frontend=noninteractive" in calls
    assert not any(call.startswith("sudo") for call in calls)


def test_files_made_through_sudo_belong_to_the_user(tree: Tree) -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root")
    for path in (tree.checkout, *tree.checkout.rglob("*")):
        os.chown(path, NOBODY, NOBODY)
    tree.environment |= {"SUDO_UID": str(NOBODY), "SUDO_GID": str(NOBODY)}
    assert tree.quickstart(root=True)
    assert (tree.checkout / ".venv" / "bin" / "windtunnel").exists()
    assert {path.lstat().st_uid for path in tree.checkout.rglob("*")} == {NOBODY}


@pytest.mark.parametrize(("response", "status"), [("n\n", 2), ("\x04", 2), ("y\n", 0), ("\n", 0)])
def test_at_a_terminal_there_is_one_question(tree: Tree, response: str, status: int) -> None:
    tree.lacks("libdpdk")
    tree.environment["SUDO"] = "yes"
    done = tree.at_terminal(response, "./windtunnel", "quickstart")
    assert done.returncode == status, done.stderr
    assert done.stderr.count("[Y/n]") == 1
    assert any(call.startswith("apt-get") for call in tree.log) == (status == 0)


def test_packages_that_fail_to_install_are_named(tree: Tree) -> None:
    tree.lacks("libdpdk")
    tree.environment["SUDO"] = "yes"
    tree.replace("apt-get", ":")
    done = tree.quickstart(code=2)
    assert "still not there, or too old: libdpdk-dev" in done.stderr


def test_a_distribution_without_a_package_is_told_what_would_do_in_its_place(tree: Tree) -> None:
    tree.lacks("libdpdk", "libpcap")
    tree.environment["SUDO"] = "yes"
    tree.replace("apt-get", "[[ $* != *install* ]]")
    tree.replace("apt-cache", "[[ $2 == libpcap-dev ]]")
    done = tree.quickstart(code=2)
    assert "package lists do not have all packages" in done.stderr
    assert "libdpdk-dev: what counts is the pkg-config libdpdk >= 22.11\n" in done.stderr
    assert "libpcap-dev:" not in done.stderr


def test_files_owned_by_root_are_named_with_their_remedy(tree: Tree) -> None:
    (tree.checkout / "build").mkdir(mode=0o555)
    if os.access(tree.checkout / "build", os.W_OK) and os.geteuid() != 0:
        pytest.skip("this user may write everywhere")
    done = tree.quickstart(code=2)
    assert "cannot be written" in done.stderr
    assert "sudo chown -R" in done.stderr


def test_every_line_of_the_package_list_can_be_checked() -> None:
    checks = {"command", "pkg-config", "python", "python-module", "python-header", "clang-runtime"}
    lines = (CHECKOUT / "setup" / "packages").read_text().splitlines()
    rows = [line.split(maxsplit=3) for line in lines if not line.startswith("#")]
    assert {row[0] for row in rows} == {"build", "test"}
    assert {row[2] for row in rows} <= checks
    assert len({row[1] for row in rows}) == len(rows)
