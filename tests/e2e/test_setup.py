"""The launcher, ./test and setup/lib.sh in a copied tree, with fakes in place of every tool that installs or builds."""

import os
import pty
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]
NOBODY = 65534
REAL_TOOLS = (
    "bash", "cat", "chmod", "chown", "df", "dirname", "env", "find", "grep", "id", "mkdir", "mktemp", "nproc", "readlink",
    "rm", "sed", "sha256sum", "stat", "tail", "uname", "xargs",
)  # fmt: skip

# Each fake writes its call to $LOG. What $ABSENT lists is not there yet; `apt-get install` takes it off that list.
FAKES = {
    "pkg-config": '! grep -qxF -- "${2%% *}" "$ABSENT" || exit 1; [[ $1 == --exists ]] || echo 1.0',
    "apt-get": 'echo "apt-get $* frontend=${DEBIAN_FRONTEND-}" >>"$LOG"; [[ " $* " != *" install "* ]] || : >"$ABSENT"',
    "sudo": 'echo "sudo $1" >>"$LOG"; [[ $SUDO == yes ]] || exit 1; [[ $1 != -n ]] || shift; "$@"',
    "meson": 'echo "meson $1${6:+ ${*:6}}" >>"$LOG"; echo "Build type: native"; [[ $1 != test ]] || exit "${UNIT_TESTS:-0}"; '
    "[[ $2 != --reconfigure ]] || shift; "
    'mkdir -p "$2"; echo "command = meson --internal regenerate $3 ${BUILD_NAME:-$2}" >"$2/build.ninja"',
    "ninja": 'echo "ninja $3" >>"$LOG"; echo "[1/1] Linking target"',
    "clang": 'echo "$LOG"',
    "python3": """
        if [[ $1 == -c ]]; then exit 0; fi
        if [[ $1 == *find_rust.py ]]; then echo "no cargo"; exit 1; fi
        echo "venv" >>"$LOG"; rm -rf "$4"; mkdir -p "$4/bin"
        cat >"$4/bin/python" <<'PYTHON'
#!/usr/bin/env bash
case "$*" in
    *"pip install"*)
        echo "pip ${!#}" >>"$LOG"; [[ $NETWORK == yes ]] || exit 1
        here=$(dirname "$0")
        for linter in ruff mypy lint-imports clang-format clang-tidy mkdocs; do
            printf '#!/usr/bin/env bash\\n[[ ${CONTENT-yes} == yes ]] || { echo "%s: line 7 is wrong"; exit 1; }\\n' $linter >"$here/$linter"
            chmod +x "$here/$linter"
        done
        printf '#!/usr/bin/env bash\\necho "run $* in $(readlink -f .)"\\n' >"$here/windtunnel"; chmod +x "$here/windtunnel" ;;
    *pytest*) echo "pytest ${*:3}${PYTHONDONTWRITEBYTECODE:+ without bytecode}" >>"$LOG"; echo "1 passed in 0.01s"; exit "${PYTEST:-0}" ;;
esac
PYTHON
        chmod +x "$4/bin/python" """,
}
PRESENT = """
    g++ gcc dpdk-testpmd tshark fi_pingpong ethtool ip ping
    make memcached nginx redis-server xz chromium
"""
FAKES |= dict.fromkeys(PRESENT.split(), ":")


ROOMS = """
    engine/stages engine/core engine/handlers/applications engine/control
    slicers studies include plugins bench
"""
"""Where linters look for files."""


Done = subprocess.CompletedProcess


@dataclass
class Tree:
    """A copy of the parts of a checkout that set it up, in a place that every user may read."""

    top: Path
    environment: dict[str, str] = field(default_factory=dict)

    @property
    def checkout(self) -> Path:
        return self.top / "checkout"

    @property
    def log(self) -> list[str]:
        """The calls of the fakes since the log was last read."""
        calls = (self.top / "log").read_text().splitlines()
        (self.top / "log").write_text("")
        return calls

    def lacks(self, *modules: str) -> None:
        (self.top / "absent").write_text("".join(f"{module}\n" for module in modules))

    def without(self, tool: str) -> None:
        (self.top / "bin" / tool).unlink()

    def replace(self, tool: str, body: str) -> None:
        (self.top / "bin" / tool).write_text(f"#!/usr/bin/env bash\n{body}\n")
        (self.top / "bin" / tool).chmod(0o755)

    def run(self, *command: str, cwd: Path | None = None, root: bool = False, stdin: int = subprocess.DEVNULL) -> Done:
        """As an ordinary user, also when the tests run as root."""
        if root and os.geteuid() != 0:
            pytest.skip("needs root")
        user = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 and not root else {}
        paths = {"PATH": self.top / "bin", "LOG": self.top / "log", "ABSENT": self.top / "absent"}
        variables = {name: str(path) for name, path in paths.items()} | {"SUDO": "no", "NETWORK": "yes"}
        how = {"cwd": cwd or self.checkout, "env": variables | self.environment, "stdin": stdin} | user
        return subprocess.run(command, check=False, capture_output=True, text=True, timeout=60, **how)

    def quickstart(self, *words: str, code: int = 0, **how) -> Done:
        """`./windtunnel quickstart`, which ends with this code."""
        done = self.run("./windtunnel", "quickstart", *words, **how)
        assert done.returncode == code, done.stderr
        return done


@pytest.fixture
def tree() -> Iterator[Tree]:
    with tempfile.TemporaryDirectory() as directory:
        top = Path(directory)
        checkout, tools = top / "checkout", top / "bin"
        checkout.mkdir()
        for name in ("windtunnel", "test", "pyproject.toml"):
            shutil.copy(CHECKOUT / name, checkout)
        shutil.copytree(CHECKOUT / "setup", checkout / "setup")
        (checkout / "tests").mkdir()
        shutil.copy(CHECKOUT / "tests" / "long", checkout / "tests")
        for room in ROOMS.split():
            (checkout / room).mkdir(parents=True)
        tools.mkdir()
        for tool in REAL_TOOLS:
            (tools / tool).symlink_to(shutil.which(tool) or pytest.fail(f"no {tool} on this machine"))
        for name in ("log", "absent"):
            (top / name).touch()
            (top / name).chmod(0o666)
        for place in (top, checkout):
            place.chmod(0o777)
        made = Tree(top)
        for tool, body in FAKES.items():
            made.replace(tool, body)
        yield made


def test_before_quickstart_other_commands_name_it(tree: Tree) -> None:
    for command in (["run", "scenarios/echo.toml"], ["run", "--help"], []):
        done = tree.run("./windtunnel", *command)
        assert done.returncode == 2
        assert "run ./windtunnel quickstart" in done.stderr
    assert tree.log == []


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


def packages(checkout: Path, purpose: str) -> list[str]:
    """What pip is told: the packages that are locked, and then the checkout."""
    return [f"pip {checkout}/setup/requirements/{purpose}.txt", f"pip {checkout}"]


def test_quickstart_sets_up_builds_and_runs_in_the_checkout_from_anywhere(tree: Tree) -> None:
    done = tree.run(str(tree.checkout / "windtunnel"), "quickstart", "--quiet", cwd=Path("/"))
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"run run scenarios/echo.toml --quiet in {tree.checkout.resolve()}\n"
    assert tree.log == ["venv", *packages(tree.checkout, "run"), "meson setup", "ninja engine/windtunnel-engine"]


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
    assert tree.log == ["ninja engine/windtunnel-engine"]


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
    assert tree.log == ["venv", *packages(moved, "run"), "meson setup", "ninja engine/windtunnel-engine"]
    assert not (moved / "build" / "leftover").exists()


def test_a_library_that_came_later_is_built_with(tree: Tree) -> None:
    tree.lacks("libfabric")
    tree.quickstart()
    assert tree.log
    tree.lacks()
    tree.quickstart()
    assert tree.log == ["meson setup", "ninja engine/windtunnel-engine"]
    tree.quickstart()
    assert tree.log == ["ninja engine/windtunnel-engine"]


def test_the_test_environment_extends_the_runtime_environment(tree: Tree) -> None:
    tree.quickstart()
    assert tree.log
    tree.run("./test")
    assert set(packages(tree.checkout, "test")) <= set(tree.log)
    tree.quickstart()
    assert tree.log == ["ninja engine/windtunnel-engine"]


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
    keyboard, terminal = pty.openpty()
    try:
        os.write(keyboard, response.encode())
        done = tree.run("./windtunnel", "quickstart", stdin=terminal)
    finally:
        os.close(keyboard)
        os.close(terminal)
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
    left = [line.split(": ", 1)[1] for line in done.stderr.splitlines() if line.startswith("files of failed tests: ")]
    assert [Path(directory).is_dir() for directory in left] == [True] * status
    for directory in left:
        shutil.rmtree(directory)


def test_quick_is_linters_and_unit_tests(tree: Tree) -> None:
    done = tree.run("./test", "quick", "-x")
    assert done.returncode == 0, done.stderr
    called = tree.log
    assert called[-2] == "meson test --no-suite fuzz --no-suite slow"
    assert " tests/unit -n " in called[-1] and called[-1].endswith(" -m not slow -x")
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


def test_every_line_of_the_package_list_can_be_checked() -> None:
    checks = {"command", "pkg-config", "python", "python-module", "python-header", "clang-runtime"}
    lines = (CHECKOUT / "setup" / "packages").read_text().splitlines()
    rows = [line.split(maxsplit=3) for line in lines if not line.startswith("#")]
    assert {row[0] for row in rows} == {"build", "test"}
    assert {row[2] for row in rows} <= checks
    assert len({row[1] for row in rows}) == len(rows)
