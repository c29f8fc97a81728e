"""The templates of the pages, filled."""

from typing import Any

from fastapi.responses import PlainTextResponse, Response

from windtunnel.errors import UserError
from windtunnel.parts.ui.guard import Allowed
from windtunnel.printing import harmless
from windtunnel.results.page.renderer import environment, rendered
from windtunnel.runs.registry.percentiles import PERCENTILES


class Pages:
    """Fills the templates."""

    def __init__(self, allowed: Allowed):
        self._templates = environment("windtunnel.parts.ui.html")
        self._allowed = allowed

    def filled(self, template: str, **values: Any) -> str:
        own = {
            "token": self._allowed.token,
            "may_edit": self._allowed.transport != "tls",
            "percentiles": [percentile for percentile in PERCENTILES if percentile.in_headline],
        }
        return rendered(self._templates, template, **own, **values)


def refusal_response(error: UserError, status: int) -> Response:
    """A response with the message and the remedy of an error as plain text."""
    text = f"{error.message}: {error.remedy}" if error.remedy else error.message
    return PlainTextResponse(f"{harmless(text)}\n", status_code=status)
