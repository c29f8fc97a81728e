"""Pages as files."""

from pathlib import Path

from windtunnel.results.document import Document
from windtunnel.results.page.renderer import render
from windtunnel.runs.files import check_new, replace

REPORT = "report.html"


def write_page(document: Document, path: Path) -> Path:
    """Writes the page in the place of an earlier one, and returns its path. Raises UserError if it cannot be written."""
    replace(path, render(document))
    return path


def write_new_page(document: Document, path: Path) -> Path:
    """Writes the page to a new file and returns its path. Raises UserError if the file exists or cannot be written."""
    check_new(path)
    return write_page(document, path)
