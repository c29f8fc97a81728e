"""Tunings for tests: a scenario, and a rig that makes up what settings do, with noise, instead of running them."""

import json
import math
import random
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from fake_runs import FAKE
from scenario_tools import engine, machine

from windtunnel.engine.interrupts import Interrupts
from windtunnel.parts.tune import tuner
from windtunnel.parts.tune.first import Move
from windtunnel.parts.tune.goal import goal
from windtunnel.parts.tune.rig import Measured, Side
from windtunnel.parts.tune.tuner import Silent, Tuned
from windtunnel.scenario.overrides import parse_overrides

SCENARIO = """\
# What does one small RPC cost, stage by stage?
title = "L-App echo"
duration = "60ms"
warmup = "20ms"
window = "20ms"

[client]
inflight = 256

[[workload]]
handler = "l_app"
"""
SPACE = """\
[[factor]]
key = "client.inflight"
values = [32, 64, 128, 256, 512, 1024]

[[factor]]
name = "batch"
keys = ["client.batch.nic_rx", "server.batch.nic_rx"]
values = [4, 8, 16, 32, 64]

[[factor]]
name = "ring"
keys = ["client.ring_size", "server.ring_size"]
values = [256, 512, 1024, 2048]
"""
BASE = 1e6
Settings = Mapping[str, str]


def settings_of(sets) -> dict[str, str]:
    """The keys that are changed, with the texts of their values."""
    return {".".join(map(str, each.path)): each.text.partition("=")[2] for each in parse_overrides(list(sets))}


def surface(settings: Settings) -> float:
    """Natural logarithm of the throughput, as a ratio to the best: 0 at an in-flight budget of 64, batches of 16 and rings of 512."""
    inflight = math.log2(int(settings.get("client.inflight", 256)) / 64)
    batch = math.log2(int(settings.get("client.batch.nic_rx", 32)) / 16)
    ring = math.log2(int(settings.get("client.ring_size", 1024)) / 512)
    return -0.05 * inflight**2 - 0.06 * batch**2 - 0.03 * ring**2


class MadeUp:
    """A rig. `noise`: standard deviation of a run's logarithm; the host's own swing, three times as much, is the same for both of a
    pair. `failing`: what a run with these settings fails with, or None. `diagnosed`: what a diagnosis of such a run would change."""

    def __init__(
        self,
        of: Callable[[Settings], float] = surface,
        noise: float = 0.02,
        seed: int = 1,
        latency: Callable[[Settings], float | None] = lambda settings: 1e4,
        failing: Callable[[Settings], str | None] = lambda settings: None,
        diagnosed: Callable[[Settings], Sequence[Move]] = lambda settings: (),
    ):
        self.of, self.noise, self.latency, self.failing, self.diagnosed = of, noise, latency, failing, diagnosed
        self.dice = random.Random(seed)
        self.pairs: list[tuple[Path, Settings, Settings]] = []
        self.alones: list[tuple[Path, Settings]] = []
        self.diagnoses: list[tuple[Path, Side, int]] = []

    def pair(self, incumbent, candidate, directory, number):
        a, b = settings_of(incumbent), settings_of(candidate)
        self.pairs.append((directory, a, b))
        (directory / f"{number}.json").write_text(json.dumps({"incumbent": a, "candidate": b}))
        swing = self.dice.gauss(0, 3 * self.noise)
        return self._run(a, swing), self._run(b, swing)

    def alone(self, sets, directory):
        settings = settings_of(sets)
        self.alones.append((directory, settings))
        failed = self.failing(settings)
        if failed:
            return Measured(failure=failed, reasons=(f"made up: {failed}",))
        ns = self.latency(settings)
        return Measured(1e6, {"p99": None if ns is None else ns * math.exp(self.dice.gauss(0, self.noise))})

    def remedies(self, directory, side, number):
        self.diagnoses.append((directory, side, number))
        return self.diagnosed(json.loads((directory / f"{number}.json").read_text())[side])

    def _run(self, settings, swing):
        if failed := self.failing(settings):
            return Measured(failure=failed, reasons=(f"made up: {failed}",))
        return Measured(BASE * math.exp(self.of(settings) + swing + self.dice.gauss(0, self.noise)))


class Killed(Exception):
    """As kill -9 would end it: nothing is tidied up."""


class Dying(MadeUp):
    """Dies in the n-th pair."""

    def __init__(self, after: int, **more):
        super().__init__(**more)
        self.left = after

    def pair(self, incumbent, candidate, directory, number):
        self.left -= 1
        if self.left < 0:
            raise Killed
        (directory / "candidate").mkdir(exist_ok=True)
        return super().pair(incumbent, candidate, directory, number)


def tuned(
    directory: Path,
    rig,
    *,
    budget: int = 40,
    objective: str = "throughput",
    slo: str | None = None,
    rate: str | None = None,
    space: str | None = SPACE,
    sets: tuple[str, ...] = (),
    scenario: str = SCENARIO,
    seed: int = 1,
    cpus: int = 2,
    watcher=None,
    interrupts: Interrupts | None = None,
    from_elsewhere: bool = False,
) -> Tuned:
    """As `windtunnel tune` runs it, in this process, below `directory`/out."""
    file = directory / "echo.toml"
    if not file.exists():
        file.write_text(scenario)
    if space is not None:
        (directory / "space.toml").write_text(space)
    with engine(str(FAKE)):
        prepared = tuner.prepare(
            file,
            sets,
            goal(objective, slo, rate),
            space_file=directory / "space.toml" if space is not None else None,
            out=directory / "out",
            seed=seed,
            host=machine(cpus),
            from_elsewhere=from_elsewhere,
        )
        if interrupts is not None:
            return tuner.run(prepared, interrupts, watcher or Silent(), budget, rig)
        with Interrupts() as own:
            return tuner.run(prepared, own, watcher or Silent(), budget, rig)
