"""A program of bench/ that holds both contestants in one process, and gives them turns of milliseconds."""

import json
import subprocess
from collections.abc import Sequence
from typing import Any, Self

from harness.session import Session
from windtunnel.engine.find import find_engine
from windtunnel.errors import UserError


class Program:
    """A line on its stdin is a round; its response is a line of JSON. Context manager; raises UserError where the program is not
    built, or has ended."""

    def __init__(
        self, session: Session, name: str, words: Sequence[object], memory_mib: int, lcores: str | None = None
    ):
        """`words`: its own arguments, behind those of EAL. `memory_mib`: where EAL has no hugepages. `lcores`: None for the measured CPU."""
        binary = find_engine().parents[1] / "bench" / name
        if not binary.is_file():
            raise UserError(f"no {binary}", remedy="meson configure build -Dbenches=enabled && ninja -C build")
        memory = ["--no-huge", "--no-shconf", "-m", str(memory_mib)] if session.memory == "no-huge" else ["--in-memory"]
        eal = [*memory, "--no-pci", "--no-telemetry", "--log-level=error"]
        eal += ["--lcores", lcores] if lcores else ["-l", str(session.cpu)]
        self._name = name
        self._process = subprocess.Popen(
            [str(binary), *eal, "--", *map(str, words)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()

    def round(self, *numbers: int) -> dict[str, Any]:
        assert self._process.stdin is not None and self._process.stdout is not None
        try:
            self._process.stdin.write(" ".join(map(str, numbers)) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            pass  # it has ended: what it output is on our stderr
        response = self._process.stdout.readline()
        if not response:
            raise UserError(f"{self._name} ended with {self._process.wait()}")
        return json.loads(response)
