"""What a weight means. 256 is one CPU, as in PvCC and Xen's Credit scheduler."""

from dataclasses import dataclass

from windtunnel_sharing.slicers.slicer import CPU_WEIGHT, MOST_WEIGHT

__all__ = ["CPU_WEIGHT", "MOST_WEIGHT", "Share", "dedicated", "lanes"]


def dedicated(total_weight: int) -> int:
    """CPUs that `ls` needs for tenants of this weight together: ceil(sum / 256), never 0."""
    return max(1, -(-total_weight // CPU_WEIGHT))


def lanes(weight: int) -> tuple[int, ...]:
    """The weights of a tenant's lanes: a tenant above one CPU runs on several, in parts as equal as whole numbers allow."""
    count = dedicated(weight)
    return tuple(weight // count + (lane < weight % count) for lane in range(count))


@dataclass(frozen=True, slots=True)
class Share:
    """What planning knows of a tenant of `ls`."""

    name: str
    weight: int
    threads: int = 1
