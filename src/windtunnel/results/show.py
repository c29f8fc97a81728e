"""Shows a document on stdout, in the format that was asked for."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from windtunnel.results.document import Document

_AS_MARKDOWN = ContextVar("as_markdown", default=False)


@contextmanager
def results_as_markdown() -> Iterator[None]:
    """What is shown within is Markdown."""
    before = _AS_MARKDOWN.set(True)
    try:
        yield
    finally:
        _AS_MARKDOWN.reset(before)


def show(document: Document) -> None:
    """Prints it for a terminal, or as Markdown within `results_as_markdown`."""
    if _AS_MARKDOWN.get():
        from windtunnel.results.markdown import render

        print(render(document), end="")
        return
    from windtunnel.results.terminal.console import results
    from windtunnel.results.terminal.renderer import document_view

    results().print(document_view(document), crop=False)  # what is not wrapped, as a path, is not cut either
