#!/usr/bin/env -S python3 -S -E
"""An engine without a data path: speaks the protocol, and misbehaves as FAKE_ENGINE says.

FAKE_ENGINE is a behaviour ("run"), or one a side ("server=crash client=until_stopped"). The numbers are made up from the plan;
its ledgers close unless the behaviour is about them. FAKE_HANG_AT: the run that stands still until it is stopped or its parent is gone, of
all that began; they are counted in the file FAKE_MARK.
"""

import argparse
import contextlib
import json
import os
import select
import signal
import sys
import time

import fake_numbers

HANDLERS = [
    {
        "name": "m_app",
        "kind": "message",
        "help": "walks a state of a given size",
        "options": [
            {"name": "state", "type": "bytes", "default": "4MiB", "choices": [], "help": "size of the state"},
            {
                "name": "pattern",
                "type": "choice",
                "default": "random",
                "choices": ["random", "sequential"],
                "help": "order",
            },
        ],
    },
    {"name": "l_app", "kind": "message", "help": "answers small requests after a scan", "options": []},
    {"name": "l2fwd", "kind": "packet", "help": "swaps the MAC addresses", "options": []},
    {
        "name": "match_action",
        "kind": "packet",
        "help": "tables",
        "options": [],
    },
]


class Fake:
    responses_in_warmup_only = False

    def __init__(self, arguments: argparse.Namespace):
        with open(arguments.plan) as file:
            self.plan = json.load(file)
        self.sides = [endpoint["side"] for endpoint in self.plan["endpoints"]]
        self.out, self.control = arguments.out_fd, arguments.control_fd
        self.turn_in, self.turn_out = arguments.turn_in_fd, arguments.turn_out_fd
        said = os.environ.get("FAKE_ENGINE", "run")
        by_side = dict(word.split("=") for word in said.split()) if "=" in said else {}
        self.behaviour = by_side.get(self.sides[0], said if not by_side else "run")
        self.start = time.monotonic_ns()
        self.changes: dict = {}
        self.commands: list[str] = []  # heard and not yet taken
        self.windows = self.reads = 0

    def at(self) -> int:
        return time.monotonic_ns() - self.start

    def write(self, **line: object) -> None:
        data = (json.dumps(line) + "\n").encode()
        while data:
            data = data[os.write(self.out, data) :]

    def phase(self, name: str) -> None:
        self.write(type="phase", name=name, at_ns=self.at())

    def hello(self, **changes: object) -> None:
        line = {
            "type": "hello",
            "version": 5,
            "engine": "0.1.0",
            "build": os.environ.get("FAKE_BUILD", "b1" * 20),
            "dpdk": "DPDK 22.11.0",
            "pid": os.getpid(),
            "plan_hash": self.plan["hash"],
            "tsc_hz": 2_000_000_000,
            "tsc_source": "measured",
            "memory": self.plan["eal"]["memory"],
            "numa_sockets": 1,
        }
        self.write(**line | changes)

    def ready(self) -> None:
        drivers = {side: "net_ring" for side in self.sides}
        self.write(
            type="ready",
            at_ns=self.at(),
            level_cost_ticks=3.5,
            stamp_ticks=36.0,
            drivers=drivers,
            notes=["net_ring: no copy"],
        )

    def window(self, index: int, phase: str) -> None:
        line = fake_numbers.window(self.plan, self.sides, index, phase)
        for workload in line["workloads"]:
            if phase == "measure" and self.responses_in_warmup_only:
                workload["responses"] = 0
        self.write(**line)
        self.windows += 1

    def result(self, reason: str, windows: int) -> None:
        self.check_reads()
        line = fake_numbers.result(self.plan, self.sides, self.at(), reason, windows)
        for part, values in self.changes.items():
            if isinstance(line[part], list):
                line[part][0] |= values
            else:
                line[part] = values
        self.write(**line)

    def told(self, wait_s: float) -> str | None:
        """What the control pipe says within the time: "stop", "extend N", "gone" (the parent), or None."""
        by = time.monotonic() + wait_s
        while not self.commands and select.select([self.control], [], [], max(0.0, by - time.monotonic()))[0]:
            words = os.read(self.control, 64).decode().split("\n")[:-1]
            if not words:
                return "gone"
            self.reads += words.count("read")
            self.commands += [word if word.startswith("extend ") else "stop" for word in words if word != "read"]
        return self.commands.pop(0) if self.commands else None

    def check_reads(self) -> None:
        """Each window of a plan that holds its workers is told to be read, and no window of another plan."""
        expected = self.windows if self.plan["phases"]["hold_windows"] else 0
        by = time.monotonic() + 5
        while self.reads < expected and time.monotonic() < by:
            self.told(0.1)
        if self.reads != expected:
            sys.exit(f"{self.windows} windows, {expected} held, {self.reads} told to be read")

    def take_turn(self) -> None:
        """Waits until the other run hands the turn on, or is gone."""
        if self.turn_in is not None and not os.read(self.turn_in, 1):
            self.turn_in = self.turn_out = None

    def hand_on(self) -> None:
        if self.turn_out is not None:
            with contextlib.suppress(BrokenPipeError):
                os.write(self.turn_out, b"t")

    def run(self, until_stopped: bool = False, held_until: str = "") -> None:
        """An orderly run: windows in their time, then the result; between them a phase that holds its port until this file is there.

        A stop is obeyed after the first measured window: how long a process takes to start decides nothing."""
        phases = self.plan["phases"]
        total = (phases["warmup_ns"] + phases["duration_ns"]) // phases["window_ns"]
        index, reason, stopped = 0, "duration", False
        while until_stopped or index < total:
            self.take_turn()
            told = self.told(phases["window_ns"] / 1e9)
            if told == "gone":
                sys.exit(3)
            if told and told.startswith("extend "):
                total += int(told.removeprefix("extend "))
            stopped = stopped or told == "stop"
            warm = (index + 1) * phases["window_ns"] <= phases["warmup_ns"]
            self.window(index, "warmup" if warm else "measure")
            index += 1
            self.hand_on()
            if stopped and not warm:
                reason = "stopped"
                break
        self.take_turn()
        self.window(index, "drain")
        if held_until:
            self.phase("lingering")
            while not os.path.exists(held_until) and os.getppid() != 1:
                time.sleep(0.01)
        self.result(reason, index)

    def wait_for_link(self) -> None:
        self.hello()
        self.phase("waiting for the link")

    def get_ready(self) -> None:
        self.phase("starting EAL")
        self.hello()
        self.phase("opening ./libmine.so")
        self.ready()
        if self.turn_in is not None:
            self.phase("waiting for its turn")


def crash() -> None:
    signal.signal(signal.SIGSEGV, signal.SIG_DFL)
    import ctypes

    ctypes.string_at(0)


def hangs_now() -> bool:
    """Whether this run is the one that hangs."""
    at = os.environ.get("FAKE_HANG_AT")
    if at is None:
        return False
    with open(os.environ["FAKE_MARK"], "ab") as begun:
        begun.write(b"x")
        begun.flush()
        return begun.tell() == int(at)


def run(fake: Fake) -> int:
    """The behaviours; all but those about the start get ready first."""
    if hangs_now():
        fake.behaviour = "hang"
    match fake.behaviour:
        case "refuse":
            fake.phase("opening port")
            fake.write(type="error", message="no interface wt0", remedy="ip link add wt0 type veth")
            return 2
        case "crash":
            fake.hello()
            fake.phase("opening ./libmine.so")
            crash()
        case "crash_opening_ports":
            fake.hello()
            fake.phase("opening ports")
            crash()
        case "crash_waiting":
            fake.wait_for_link()
            crash()
        case "crash_waiting_once":
            mark = os.environ["FAKE_MARK"]
            if not os.path.exists(mark):
                open(mark, "x").close()
                fake.wait_for_link()
                crash()
            fake.behaviour = "until_stopped"
        case "crash_waiting_when_stopped":
            fake.wait_for_link()
            while fake.told(60) != "stop":
                pass
            crash()
        case "run_when_linked":
            fake.phase("waiting for the link")
            while not os.path.exists(os.environ["FAKE_LINK"]) and os.getppid() != 1:
                time.sleep(0.01)
            fake.behaviour = "run"
        case "without_link":
            fake.wait_for_link()
            time.sleep(60)
        case "old":
            fake.hello(version=0)
        case "wrong_plan":
            fake.hello(plan_hash="0" * 64)
            time.sleep(60)
        case "truncated":
            os.write(fake.out, b'{"type": "phase", "na')
            return 0
    fake.get_ready()
    match fake.behaviour:
        case "run":
            fake.run()
        case "until_stopped":
            fake.run(until_stopped=True)
        case "chatter":
            sys.stdout.write("a driver that talks\n" * 200_000)
            fake.run()
        case "garbage":
            fake.window(0, "measure")
            os.write(fake.out, b"net_ring: not a line\n")
            time.sleep(60)
        case "hang":
            fake.window(0, "measure")
            while (told := fake.told(60)) is None:
                pass
            if told == "gone":
                return 3
            fake.result("stopped", 1)
        case "freeze":
            fake.window(0, "measure")
            time.sleep(60)
        case "stubborn":
            index = 0
            while True:
                fake.window(index, "measure")
                index += 1
                time.sleep(0.05)
        case "close_early":
            fake.window(0, "measure")
            os.close(fake.out)
            time.sleep(60)
        case "exit_early":
            fake.window(0, "measure")
        case "exit_late":
            fake.run()
            time.sleep(60)
        case "crash_running":
            fake.window(0, "measure")
            crash()
        case "killed_in_a_line":
            fake.window(0, "measure")
            while not os.path.exists(os.environ["FAKE_MARK"]):
                time.sleep(0.001)
            for index in range(1, 10):
                fake.window(index, "measure")
            os.write(fake.out, b'{"type": "window", "ind')
            os.write(1, b"its last words")
            os.kill(os.getpid(), signal.SIGKILL)
        case "crash_when_stopped":
            while fake.told(60) != "stop":
                pass
            crash()
        case "hold_port":
            fake.run(held_until=os.environ["FAKE_MARK"])
        case "lose_peer":
            fake.window(0, "measure")
            fake.result("peer lost", 1)
        case "see_peer_go":
            fake.window(0, "measure")
            while fake.told(60) != "stop":
                pass
            fake.result("peer lost", 1)
        case "children":
            import subprocess

            child = subprocess.Popen(["sleep", "60"])
            print("child", child.pid, flush=True)
            fake.run()
        case "no_responses":
            fake.changes = {"messages": {"responses": 0, "lost": 3000}}
            fake.run()
        case "stop_responding":
            fake.changes = {"messages": {"responses": 1000, "lost": 3000}}
            fake.responses_in_warmup_only = True
            fake.run()
        case "lose_mbufs":
            fake.changes = {"mbufs": {"missing": 3}}
            fake.run()
        case "lose_packets":
            fake.changes = {"packets": {"missing": 2}}
            fake.run()
        case "lose_messages":
            fake.changes = {"messages": {"missing": 1}}
            fake.run()
        case "allocate":
            fake.changes = {"worker_allocations": 12}
            fake.run()
            fake.run()
        case unknown:
            raise SystemExit(f"FAKE_ENGINE: no behaviour {unknown!r}")
    return 0


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--plan")
    parser.add_argument("--out-fd", type=int)
    parser.add_argument("--control-fd", type=int)
    parser.add_argument("--handlers-only", action="store_true")
    parser.add_argument("--turn-in-fd", type=int)
    parser.add_argument("--turn-out-fd", type=int)
    parser.add_argument("--handlers", action="store_true")
    parser.add_argument("--plugin")
    parser.add_argument("--tables-need")
    parser.add_argument("--version", action="store_true")
    arguments = parser.parse_args()
    if arguments.version:
        print("windtunnel-engine 0.1.0, DPDK 22.11.0, build b1b1b1b1b1b1")
        return 0
    if arguments.tables_need:
        print(json.dumps([table["rules"] * 100 for table in json.loads(arguments.tables_need)["tables"]]))
        return 0
    if arguments.handlers:
        if arguments.plugin and os.path.getsize(arguments.plugin) == 0:
            print(f"windtunnel-engine: handler {arguments.plugin} cannot be loaded: file too short", file=sys.stderr)
            print("remedy: build it again", file=sys.stderr)
            return 2
        print(json.dumps(HANDLERS))
        return 0
    fake = Fake(arguments)
    if arguments.handlers_only:
        fake.hello()
        return 0
    return run(fake)


if __name__ == "__main__":
    sys.exit(main())
