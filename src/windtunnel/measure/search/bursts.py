"""The longest burst without loss, and the buffer that it implies: RFC 9004, which updates RFC 2544, section 26.4."""

from collections.abc import Callable
from dataclasses import dataclass
from statistics import fmean, pstdev

from windtunnel.errors import UserError
from windtunnel.measure.search.trial_log import TrialFailed

SHORTEST_MOST_S = 30.0
"""RFC 9004: the longest burst must be configurable up to this number of seconds of sending. It is the default."""


@dataclass(frozen=True)
class BurstResult:
    """One burst of `sent` packets at the least gap, and how many came back, waiting for them included. Raises
    ValueError for counts that cannot be. `excluded`: why it does not count; it is sent again."""

    sent: int
    forwarded: int
    excluded: str | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.forwarded <= self.sent:
            raise ValueError(f"a burst of {self.sent} of which {self.forwarded} were forwarded")


@dataclass(frozen=True)
class BurstLimits:
    """Raises UserError for values that cannot be."""

    rate: float
    """Packets per second within a burst: the greatest that the medium allows ("Max Theoretical Frame Rate")."""
    longest_s: float = SHORTEST_MOST_S
    """Longest time of sending; the longest burst tried is `rate` times that."""
    step: int = 1
    """Packets: bursts are multiples of it, and as precise."""
    repeats: int = 50
    """Independent searches, of which the average is the benchmark (RFC 2544, section 26.4: at least 50, as a SHOULD)."""
    verify: int = 1
    """Times that a lossy burst is sent before it counts as lossy: 1 is ETSI GS NFV-TST 009's binary search, more is
    that with loss verification."""
    excluded: int = 3
    """Number of excluded bursts in a row after which the search stops."""

    def __post_init__(self) -> None:
        for name in ("rate", "longest_s", "step", "repeats", "verify", "excluded"):
            if not getattr(self, name) > 0:
                raise UserError(f"bursts with {name} {getattr(self, name):g}", remedy="above 0")
        if self.steps < 1:
            raise UserError(
                f"no burst of {self.step} packets fits into {self.longest_s:g} s",
                remedy="a longer time or a smaller step",
            )

    @property
    def steps(self) -> int:
        """Steps in the longest burst."""
        return int(self.rate * self.longest_s) // self.step


@dataclass(frozen=True)
class BackToBack:
    """What the repeats found. Bursts in packets, times in seconds."""

    bursts: tuple[int, ...]
    """The longest without loss, of each repeat."""
    irregular: str | None
    """Why the result is irregular; None if it is regular."""
    implied_buffer_s: float | None
    corrected_buffer_s: float | None
    """The implied one without what was forwarded while the burst still came in; None without bursts or throughput."""

    @property
    def average(self) -> float | None:
        """The benchmark; None without repeats."""
        return fmean(self.bursts) if self.bursts else None

    @property
    def deviation(self) -> float | None:
        """Standard deviation of the repeats (RFC 9004 asks for it, the least, the greatest and the average)."""
        return pstdev(self.bursts) if self.bursts else None


SendBurst = Callable[[int], BurstResult]
OnBurst = Callable[[BurstResult, tuple[int, ...]], None]
"""Called after every burst, with what the finished repeats found."""


def back_to_back(
    send: SendBurst, limits: BurstLimits, throughput: float | None = None, on_burst: OnBurst | None = None
) -> BackToBack:
    """RFC 9004: `limits.repeats` binary searches for the longest burst without loss.

    `throughput` is the device's, in packets per second, as a search found it; without it there is no corrected time.
    `send` empties the device's buffers before it returns (the RFC waits at least 2 s). Raises TrialFailed for a
    burst that raises or gives what cannot be, UserError for a throughput above the rate, which leaves no buffer to
    fill.
    """
    if throughput is not None and not 0 <= throughput < limits.rate:
        raise UserError(
            f"a throughput of {throughput:g} with bursts at {limits.rate:g} packets per second",
            remedy="skip the bursts, or a device slower than the medium (RFC 9004)",
        )
    bursts: list[int] = []
    for _ in range(limits.repeats):
        longest, irregular = _longest(send, limits, lambda burst: on_burst and on_burst(burst, tuple(bursts)))
        if longest is None:
            return _result(bursts, irregular, limits, throughput)
        bursts.append(longest)
    if max(bursts) == limits.steps * limits.step:
        irregular = f"a burst of {limits.longest_s:g} s, the longest allowed, was forwarded: the buffer may be larger"
    return _result(bursts, irregular, limits, throughput)


def _longest(
    send: SendBurst, limits: BurstLimits, tell: Callable[[BurstResult], object]
) -> tuple[int | None, str | None]:
    """One search: the longest burst without loss (0: none), or None and why it was given up."""
    lower, upper = 0, limits.steps
    while lower < upper:
        middle = (lower + upper + 1) // 2
        carried, why = _carried(send, middle * limits.step, limits, tell)
        if carried is None:
            return None, why
        lower, upper = (middle, upper) if carried else (lower, middle - 1)
    return lower * limits.step, None


def _carried(
    send: SendBurst, length: int, limits: BurstLimits, tell: Callable[[BurstResult], object]
) -> tuple[bool | None, str | None]:
    """Whether a burst came back whole, or None and why that is not known."""
    lossy = excluded = 0
    while lossy < limits.verify:
        burst = _sent(send, length)
        tell(burst)
        if burst.excluded is None:
            if burst.forwarded == burst.sent:
                return True, None
            lossy, excluded = lossy + 1, 0
            continue
        excluded += 1
        if excluded == limits.excluded:
            return (
                None,
                f"{excluded} bursts of {length} packets in a row were excluded; the last one: {burst.excluded}",
            )
    return False, None


def _sent(send: SendBurst, length: int) -> BurstResult:
    name = f"a burst of {length} packets"
    try:
        burst = send(length)
    except Exception as error:
        remedy = error.remedy if isinstance(error, UserError) else None
        raise TrialFailed(f"{name}: {error or type(error).__name__}", remedy, ()) from error
    if not isinstance(burst, BurstResult):
        raise TrialFailed(f"{name} gave no BurstResult but {burst!r}", None, ())
    if burst.sent != length and burst.excluded is None:
        raise TrialFailed(f"{name} was one of {burst.sent}", "a burst that could not be sent whole is excluded", ())
    return burst


def _result(bursts: list[int], irregular: str | None, limits: BurstLimits, throughput: float | None) -> BackToBack:
    implied = fmean(bursts) / limits.rate if bursts else None
    corrected = None if implied is None or throughput is None else implied * (1 - throughput / limits.rate)
    return BackToBack(tuple(bursts), irregular, implied, corrected)
