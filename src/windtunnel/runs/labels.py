"""Labels: what a user marks a run with, as in `commit=8fe5ed78`. They change nothing of the run."""

import re
from collections.abc import Sequence

from windtunnel.errors import UserError

Labels = dict[str, str]

_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*", re.ASCII)
"""What a search of the index can name."""
MOST_CHARACTERS = 200
"""Longest key, and longest value."""
MOST_LABELS = 32
EXAMPLE = "as in --label commit=8fe5ed78"


def labels_of(texts: Sequence[str]) -> Labels:
    """Reads the texts of `--label`. Raises UserError for one that is no `key=value`, or whose key comes twice."""
    labels: Labels = {}
    for text in texts:
        key, value = _pair(text)
        if key in labels:
            raise UserError(f"--label {key}: given twice", remedy="one value for each key")
        labels[key] = value
    if len(labels) > MOST_LABELS:
        raise UserError(f"{len(labels)} labels, at most {MOST_LABELS} are kept", remedy="leave some of them out")
    return labels


def words(labels: Labels) -> str:
    """The labels as text, as in "commit=8fe5ed78 firmware=22.31"."""
    return " ".join(f"{key}={value}" for key, value in labels.items())


def _pair(text: str) -> tuple[str, str]:
    key, sign, value = text.partition("=")
    shown = f"--label {text[:MOST_CHARACTERS]!r}"
    if not sign:
        raise UserError(f"{shown}: no key=value", remedy=EXAMPLE)
    if not _KEY.fullmatch(key):
        what = "a key that is not letters, digits, _, . and -" if key else "an empty key"
        raise UserError(f"{shown}: {what}", remedy=EXAMPLE)
    if not value:
        raise UserError(f"{shown}: an empty value", remedy=EXAMPLE)
    if not value.isprintable():
        raise UserError(f"{shown}: a control character in the value", remedy="printable text")
    if max(len(key), len(value)) > MOST_CHARACTERS:
        raise UserError(f"{shown}: more than {MOST_CHARACTERS} characters", remedy="a shorter key or value")
    return key, value
