"""Debian's own dpdk-testpmd, told what to do through a pipe: the witness that is not ours."""

import os
import re
import shutil
import subprocess
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from processes import thread_names

PROMPT = "testpmd> "


class Testpmd:
    """One that forwards packets of net_null, which needs no NIC and no hugepages."""

    __test__ = False

    def __init__(self, *options: str, load: Path | None = None) -> None:
        eal = ["--no-huge", "-m", "256", "--no-pci", "--file-prefix", f"wt{uuid.uuid4().hex[:8]}", "-l", "0,1"]
        eal += ["-d", str(load)] if load else []
        vdevs = ["--vdev", "net_null0", "--vdev", "net_null1"]
        own = ["-i", "--forward-mode=macswap", "--total-num-mbufs=2048", *options]
        self.process = subprocess.Popen(
            ["stdbuf", "-oL", "dpdk-testpmd", *eal, *vdevs, "--", *own],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.prefix = eal[eal.index("--file-prefix") + 1]
        self.read_to_prompt()
        for thread, name in thread_names(self.pid).items():
            if "worker" in name:  # it polls, and is not to take a CPU from other tests
                os.setpriority(os.PRIO_PROCESS, thread, 15)

    @property
    def pid(self) -> int:
        return self.process.pid

    def read_to_prompt(self) -> str:
        assert self.process.stdout
        printed = ""
        while not printed.endswith(PROMPT):
            character = self.process.stdout.read(1)
            assert character, f"testpmd ended: {printed}"
            printed += character
        return printed

    def tell(self, command: str) -> str:
        """What it prints on a command."""
        assert self.process.stdin
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        printed = self.read_to_prompt()
        while command not in printed:  # which is shown as it was typed; a prompt may have been shown twice before
            printed += self.read_to_prompt()
        return printed


@contextmanager
def testpmd(*options: str, load: Path | None = None) -> Iterator[Testpmd]:
    """Skips if there is none; ended with the test, however it ends. `load`: a library for EAL's -d."""
    if not shutil.which("dpdk-testpmd"):
        pytest.skip("needs Debian's dpdk-testpmd (dpdk)")
    started = Testpmd(*options, load=load)
    try:
        yield started
    finally:
        started.process.kill()
        started.process.communicate()
        for directory in ("/var/run", os.environ.get("XDG_RUNTIME_DIR", "/tmp")):  # root's, and another user's
            shutil.rmtree(Path(directory, "dpdk", started.prefix), ignore_errors=True)


testpmd.__test__ = False  # type: ignore[attr-defined]


def forwarded(printed: str) -> dict[int, dict[str, int]]:
    """Of what `stop` prints: packets and bursts of each port."""
    ports = {}
    parts = re.split(r"Forward statistics for port (\d+)", printed)[1:]
    for port, text in zip(parts[::2], parts[1::2], strict=True):
        own = text.split("++++")[0]
        ports[int(port)] = {name: int(value) for name, value in re.findall(r"(\w+-\w+) ?: (\d+)", own)}
    return ports
