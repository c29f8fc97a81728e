"""Findings: the effect of a fact of the host on a measurement, with a verdict and, if there is one, a command as the remedy."""

from typing import Literal

from pydantic import Field

from windtunnel.host.read import Part

Verdict = Literal["good", "fair", "bad", "unknown"]


class Finding(Part):
    subject: str
    value: str
    verdict: Verdict
    meaning: str = Field(description="effect on a measurement")
    remedy: str | None = Field(
        default=None, description="a command to type; null: nothing to do, or nothing that helps"
    )


def spans(cpus: list[int]) -> str:
    """[0, 1, 2, 5] as "0-2,5", as the kernel and taskset write it."""
    parts: list[list[int]] = []
    for cpu in sorted(cpus):
        if parts and cpu == parts[-1][-1] + 1:
            parts[-1].append(cpu)
        else:
            parts.append([cpu])
    return ",".join(str(part[0]) if len(part) == 1 else f"{part[0]}-{part[-1]}" for part in parts)


def size(count: int) -> str:
    """Bytes in the largest binary unit that leaves a whole number or one decimal: 2 MiB, 23.5 GiB."""
    value = float(count)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if value < 1024 or unit == "GiB":
            return f"{value:.1f}".removesuffix(".0") + f" {unit}"
        value /= 1024
    raise AssertionError("the last unit takes every value")
