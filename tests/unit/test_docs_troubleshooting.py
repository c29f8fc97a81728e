"""The page on troubleshooting quotes messages: what it has between backticks in the first column is in the texts of the code."""

import re
from functools import cache
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]
PAGE = CHECKOUT / "docs/how-to/troubleshooting.md"
OF_OTHERS = ("Address already in use", "no matches found")
"""What the C library and a shell say."""
CUT = re.compile(r"\b[A-Z]+\b|\d+|\.\.\.|%|[:;] |[\"(),=]|\bwithin\b|\bon CPU\b|windtunnel-engine")
"""What differs from message to message, and where the code puts texts together."""
LEAST = 8
"""Characters of a piece that is looked for."""


def quoted() -> list[str]:
    """The messages, from the first column of each table."""
    rows = [line for line in PAGE.read_text().splitlines() if line.startswith("| ") and "`" in line]
    return [message for row in rows for message in re.findall(r"`([^`]+)`", row.split(" | ")[0])]


def pieces(message: str) -> list[str]:
    """What a message has in common with its text in the code: without what differs, and cut where texts are put together."""
    found = (piece.strip(" :;") for piece in CUT.split(message))
    return [piece for piece in found if len(piece) >= LEAST]


@cache
def texts() -> str:
    """The code, with literals that stand beside each other joined."""
    roots = (("src", "*.py"), ("engine", "*.cc"), ("engine", "*.h"))
    files = [CHECKOUT / "windtunnel", *(file for root, kind in roots for file in (CHECKOUT / root).rglob(kind))]
    whole = "\n".join(file.read_text() for file in files)
    return re.sub(r"\"\s*(?:\+\s*)?f?\"", "", whole)


def test_the_page_quotes_messages():
    assert len(quoted()) >= 40
    assert sum(bool(pieces(message)) for message in quoted()) >= 35


@pytest.mark.parametrize("message", quoted())
def test_a_quoted_message_is_one_of_the_code(message):
    if not message.startswith(OF_OTHERS):
        assert [piece for piece in pieces(message) if piece not in texts() and piece not in OF_OTHERS] == []
