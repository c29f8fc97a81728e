"""A calibration in the terminal."""

from rich.console import Group, RenderableType
from rich.text import Text

from windtunnel import format as fmt
from windtunnel.measure.calibration import Calibration, Share
from windtunnel.stats.days import LEAST_DAYS
from windtunnel.views.terminal.columns import Column, Fitting


def calibration_view(found: Calibration) -> RenderableType:
    """What was compared, a row for each kind of interval, and what follows."""
    shares = found.shares
    table = Fitting(
        [
            Column("", [share.what for share in shares], words=True),
            Column("says", [_says(share) for share in shares]),
            Column("here", [_here(share) for share in shares]),
            Column("95% interval", [_interval(share) for share in shares]),
        ]
    )
    style = "green" if found.exit_code == 0 else "yellow"
    sentences = [*compared(found), outcome(found)]
    return Group(table, Text(), *(Text(sentence, style=style) for sentence in sentences))


def compared(found: Calibration) -> list[str]:
    """Sentences: what the shares rest on."""
    sentences = [f"Comparisons of the scenario with itself: {found.comparisons}, on days (UTC): {found.days}."]
    if found.metric:
        sentences.append(f"They were decided by {found.metric}.")
    if found.without_verdict:
        sentences.append(f"Without a verdict, and not counted: {found.without_verdict}.")
    if found.unread:
        sentences.append(f"Cannot be read, and not counted: {len(found.unread)}, as {found.unread[0]}.")
    if found.others:
        sentences.append(f"Of another host, kernel, state of the host or metric, and not counted: {found.others}.")
    if found.between_days is not None:
        sentences.append(f"The medians of days scatter by {fmt.percent(found.between_days)} (one standard deviation).")
    return sentences


def outcome(found: Calibration) -> str:
    """One sentence."""
    if not found.comparisons:
        return "No comparison has a verdict: windtunnel host doctor says what disturbs this host."
    if failing := [share.what for share in found.shares if share.fails]:
        return f"Not as it says: {'; '.join(failing)}."
    if found.days <= LEAST_DAYS:
        return f"Nothing is shown to hold less often than it says. Another day can be judged from {LEAST_DAYS + 1} days on."
    return "Nothing is shown to hold less often than it says."


def _says(share: Share) -> str:
    """A dash if it says nothing of these cases."""
    return f"{'at most ' if share.of_what == 'error' else ''}{fmt.percent(share.says, 0)}"


def _here(share: Share) -> str:
    return f"{share.count} of {share.of}" if share.of else fmt.DASH


def _interval(share: Share) -> str:
    if share.low is None:
        return fmt.DASH
    return f"{fmt.percent(share.low, 0)} .. {fmt.percent(share.high, 0)}"
