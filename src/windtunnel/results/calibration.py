"""A calibration as a document: how often each kind of interval held on this host."""

from collections.abc import Sequence

from windtunnel import format as fmt
from windtunnel.measure.calibration import Calibration, Share
from windtunnel.results.document import Document, Section, Sentence, Table, Tone, columns_of
from windtunnel.stats.days import LEAST_DAYS


def calibration_document(calibration: Calibration, files: Sequence[tuple[str, str]] = ()) -> Document:
    """A row for each kind of interval, what was compared, and what follows."""
    column = columns_of(calibration.shares)
    table = Table(
        [
            column("", lambda share: share.what, words=True),
            column("says", _says),
            column("here", _here),
            column("95% interval", _interval),
        ]
    )
    tone: Tone = "good" if calibration.exit_code == 0 else "warning"
    return Document(
        kind="calibration",
        title="Do the intervals hold on this host?",
        at=calibration.made,
        blocks=[table, Section("What was compared", [Sentence(sentence) for sentence in compared(calibration)])],
        verdict=Sentence(outcome(calibration), tone=tone),
        files=files,
    )


def compared(calibration: Calibration) -> list[str]:
    """Sentences: what the shares rest on."""
    sentences = [
        f"Comparisons of the scenario with itself: {calibration.comparisons}, on days (UTC): {calibration.days}."
    ]
    if calibration.metric:
        sentences.append(f"They were decided by {calibration.metric}.")
    if calibration.without_verdict:
        reason = f" (the newest: {calibration.no_verdict_because})" if calibration.no_verdict_because else ""
        sentences.append(f"Without a verdict, and not counted: {calibration.without_verdict}{reason}.")
    if calibration.unread:
        sentences.append(f"Cannot be read, and not counted: {len(calibration.unread)}, as {calibration.unread[0]}.")
    if calibration.others:
        sentences.append(
            f"Of another host, kernel, state of the host or metric, and not counted: {calibration.others}."
        )
    if calibration.between_days is not None:
        scatter = fmt.percent(calibration.between_days)
        sentences.append(f"The medians of days scatter by {scatter} (one standard deviation).")
    return sentences


def outcome(calibration: Calibration) -> str:
    """One sentence."""
    if not calibration.comparisons:
        return "No comparison has a verdict: windtunnel host doctor says what disturbs this host."
    if failing := [share.what for share in calibration.shares if share.fails]:
        return f"Not as it says: {'; '.join(failing)}."
    if calibration.days <= LEAST_DAYS:
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
