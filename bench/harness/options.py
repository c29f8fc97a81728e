"""The command line that all benches have in common."""

import argparse
import os
from collections.abc import Callable
from pathlib import Path

from harness.statistics import LEAST_PAIRS


def options(description: str, more: Callable[[argparse.ArgumentParser], None] | None = None) -> argparse.Namespace:
    """`more` adds those of one bench."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    cpus = sorted(os.sched_getaffinity(0))
    parser.add_argument("--pairs", type=positive(int), default=LEAST_PAIRS, help="samples of each contestant, in turns")
    parser.add_argument("--seconds", type=positive(float), default=2.0, help="length of a sample")
    parser.add_argument("--cpu", type=int, choices=cpus, default=cpus[-1], help="the measured core")
    parser.add_argument(
        "--together",
        action="store_true",
        help="contestants share the core at once, in turns of milliseconds: for a host whose speed changes every second",
    )
    parser.add_argument(
        "--memory", choices=("both", "hugepages", "no-huge"), default="both", help="both: hugepages where some are free"
    )
    parser.add_argument(
        "--hugepages",
        type=positive(int),
        metavar="N",
        help="reserve N pages of 2 MiB and give them back afterwards (root)",
    )
    parser.add_argument(
        "--against",
        type=Path,
        metavar="DIR",
        help="measure this build and that of the checkout DIR in turns, without the references",
    )
    if more:
        more(parser)
    return parser.parse_args()


def positive(kind: type) -> type:
    def number(text: str):
        if (value := kind(text)) <= 0:
            raise argparse.ArgumentTypeError(f"{text} is not above 0")
        return value

    number.__name__ = kind.__name__
    return number
