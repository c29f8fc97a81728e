"""Weights as nice values: between which two steps a weight lies, and how far the steps alone would be from it.

The kernel's weights of nice -20 to 19 are sched_prio_to_weight of kernel/sched/core.c: 1024 at nice 0, a factor of 1.25 a step.
"""

from bisect import bisect_right
from dataclasses import dataclass

# fmt: off
OF_NICE = (
    88761, 71755, 56483, 46273, 36291, 29154, 23254, 18705, 14949, 11916,
    9548, 7620, 6100, 4904, 3906, 3121, 2501, 1991, 1586, 1277,
    1024, 820, 655, 526, 423, 335, 272, 215, 172, 137,
    110, 87, 70, 56, 45, 36, 29, 23, 18, 15,
)
# fmt: on
LEAST_NICE, MOST_NICE = -20, 19
_FALLING = [-weight for weight in OF_NICE]


@dataclass(frozen=True)
class Steps:
    """`high` is the nice value at or above the weight, `low` the one at or below it."""

    high: int
    low: int


def kernel_weight(nice: int) -> int:
    return OF_NICE[nice - LEAST_NICE]


def steps(weights: list[int], least_nice: int = LEAST_NICE) -> tuple[list[Steps], list[str]]:
    """Of each weight, and words about those that cannot be had. The heaviest is at nice 0, unless the lightest would then be beyond
    19; a ratio of more than 5,900 is beyond both. `least_nice`: the heaviest gets no less."""
    if not weights:
        return [], []
    heaviest, lightest = max(weights), min(weights)
    top = 0
    while top > least_nice and lightest / heaviest * kernel_weight(top) < OF_NICE[-1]:
        top -= 1
    found, said = [], []
    for weight in weights:
        wanted = weight / heaviest * kernel_weight(top)
        if wanted < OF_NICE[-1]:
            said.append(
                f"a weight of {weight} with one of {heaviest} is less than the kernel can give: nice {MOST_NICE}"
            )
            found.append(Steps(MOST_NICE, MOST_NICE))
            continue
        high = LEAST_NICE - 1 + bisect_right(_FALLING, -wanted)  # the last that is not less than wanted
        found.append(Steps(high, high if kernel_weight(high) == wanted else min(high + 1, MOST_NICE)))
    return found, said
