#!/usr/bin/env python3
"""Accepts one TCP connection, reads it to its end, and compares every byte with the source of the stream.

The bytes follow from the seed of the run, the index of the workload and the position (engine/core/random_bytes.h), so nothing is
exchanged but the stream. Prints what it read. Exit codes: 0 all right, 1 wrong bytes, a reset, or no connection.
"""

import argparse
import socket
import sys
import time

import numpy as np

MASK = (1 << 64) - 1
STEP = 0x9E3779B97F4A7C15
FACTORS = (0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
SOURCES = 5
"""Of `chance` in engine/run/seed.h."""
UNITS = {"": 1, "B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
LINE = 64
RECEIVE = 1 << 20


def mix(x: int) -> int:
    """splitmix64's, as mix64() of engine/core/random.h."""
    x = (x ^ x >> 30) * FACTORS[0] & MASK
    x = (x ^ x >> 27) * FACTORS[1] & MASK
    return x ^ x >> 31


def source_seed(run_seed: int, workload: int) -> int:
    return mix(mix(run_seed) + (SOURCES << 32 | workload) & MASK)


def random_bytes(seed: int, count: int) -> np.ndarray:
    """The first bytes of all that follow from a seed; 8 of them are a word, the lowest first."""
    words = np.uint64(seed) + np.arange(-(-count // 8), dtype=np.uint64) * np.uint64(STEP)
    for shift, factor in zip((30, 27), FACTORS, strict=True):
        words ^= words >> np.uint64(shift)
        words *= np.uint64(factor)
    words ^= words >> np.uint64(31)
    return words.astype("<u8", copy=False).view(np.uint8)[:count]


class Checked:
    """What was read so far, against the source: writes take its parts in turn, and `hot` always the first one."""

    def __init__(self, seed: int, source: int, write: int, hot: bool):
        part = -(-write // LINE) * LINE
        self.expected = random_bytes(seed, part if hot else max(1, source // part) * part)
        self.bytes = self.wrong = 0
        self.first_wrong: int | None = None

    def take(self, data: np.ndarray) -> None:
        while len(data):
            begin = self.bytes % len(self.expected)
            expected = self.expected[begin : begin + len(data)]
            self._compare(data[: len(expected)], expected)
            data = data[len(expected) :]

    def _compare(self, data: np.ndarray, expected: np.ndarray) -> None:
        if not np.array_equal(data, expected):
            differs = np.flatnonzero(data != expected)
            self.wrong += len(differs)
            if self.first_wrong is None:
                self.first_wrong = self.bytes + int(differs[0])
        self.bytes += len(data)


def size(text: str) -> int:
    number = text.rstrip("KMGiB")
    return int(number) * UNITS[text[len(number) :]]


def options() -> argparse.Namespace:
    """The defaults are those of stream-to-kernel.toml."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--port", type=int, default=9000, help="where it listens")
    parser.add_argument("--seed", type=int, default=1, help="of the run")
    parser.add_argument(
        "--workload", type=int, default=0, help="index of the stream's workload in the scenario, from 0"
    )
    parser.add_argument("--source", type=size, default="128MiB", help="workload.source.bytes")
    parser.add_argument("--write", type=size, default="1MiB", help="workload.stream.write")
    parser.add_argument("--hot", action="store_true", help='the order of the source is "hot"')
    parser.add_argument("--wait", type=float, default=60, help="seconds until the connection comes")
    return parser.parse_args()


def receive(connection: socket.socket, checked: Checked) -> str | None:
    """Reads to the end of the stream; returns what ended it otherwise."""
    buffer = bytearray(RECEIVE)
    received = np.frombuffer(buffer, np.uint8)
    try:
        while count := connection.recv_into(buffer):
            checked.take(received[:count])
    except OSError as error:
        return str(error)
    return None


def main() -> int:
    given = options()
    checked = Checked(source_seed(given.seed, given.workload), given.source, given.write, given.hot)
    with socket.create_server(("", given.port)) as listener:
        listener.settimeout(given.wait)
        print(f"listening on port {given.port}", flush=True)
        try:
            connection, (peer, _) = listener.accept()
        except TimeoutError:
            print(f"no connection within {given.wait:g} s")
            return 1
    with connection:
        began = time.monotonic()
        problem = receive(connection, checked)
        took = time.monotonic() - began
    where = f", the first at byte {checked.first_wrong}" if checked.wrong else ""
    print(
        f"{checked.bytes} bytes from {peer} in {took:.3f} s ({checked.bytes * 8e-9 / took:.3f} Gbit/s), {checked.wrong} wrong{where}"
    )
    if problem:
        print(f"ended before the end of the stream: {problem}")
    return 1 if problem or checked.wrong or not checked.bytes else 0


if __name__ == "__main__":
    sys.exit(main())
