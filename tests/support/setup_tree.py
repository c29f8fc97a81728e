"""A copied tree with the launcher, ./test and setup/lib.sh, and fakes in place of every tool that installs or builds."""

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
    "bash", "cat", "chmod", "chown", "cp", "df", "dirname", "env", "find", "grep", "id", "ln", "mkdir", "mktemp", "nproc", "readlink",
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
    sharing include plugins bench
"""
"""Where linters look for files."""


KEPT = "files of failed tests: "
Done = subprocess.CompletedProcess


@dataclass
class Tree:
    """A copy of the parts of a checkout that set it up, in a place that every user may read."""

    top: Path
    environment: dict[str, str] = field(default_factory=dict)
    left: list[Path] = field(default_factory=list)
    """Files of failed tests, which ./test keeps."""

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
        done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60, **how)
        lines = done.stderr.splitlines()
        self.left += [Path(line.removeprefix(KEPT)) for line in lines if line.startswith(KEPT)]
        return done

    def at_terminal(self, typed: str, *command: str) -> Done:
        """The command at a terminal on which this was typed already."""
        keyboard, terminal = pty.openpty()
        try:
            os.write(keyboard, typed.encode())
            return self.run(*command, stdin=terminal)
        finally:
            os.close(keyboard)
            os.close(terminal)

    def quickstart(self, *words: str, code: int = 0, **how) -> Done:
        """`./windtunnel quickstart`, which ends with this code."""
        done = self.run("./windtunnel", "quickstart", *words, **how)
        assert done.returncode == code, done.stderr
        return done


def copied_tree() -> Iterator[Tree]:
    """For a fixture."""
    with tempfile.TemporaryDirectory() as directory:
        top = Path(directory)
        checkout, tools = top / "checkout", top / "bin"
        checkout.mkdir()
        for name in ("windtunnel", "test", "pyproject.toml"):
            shutil.copy(CHECKOUT / name, checkout)
        shutil.copytree(CHECKOUT / "setup", checkout / "setup")
        (checkout / "tests").mkdir()
        shutil.copy(CHECKOUT / "tests" / "long", checkout / "tests")
        (checkout / "sharing").mkdir()
        shutil.copy(CHECKOUT / "sharing" / "pyproject.toml", checkout / "sharing")
        for room in ROOMS.split():
            (checkout / room).mkdir(parents=True, exist_ok=True)
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
        for directory in made.left:
            shutil.rmtree(directory)
