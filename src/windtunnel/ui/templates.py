"""The templates of the pages, filled."""

from typing import Any

from windtunnel.ui.guard import Allowed
from windtunnel.views.pages.page import environment


class Pages:
    """Fills the templates."""

    def __init__(self, allowed: Allowed):
        self._templates = environment("windtunnel.ui.pages")
        self._allowed = allowed

    def filled(self, template: str, **values: Any) -> str:
        return self._templates.get_template(template).render(
            token=self._allowed.token, may_edit=self._allowed.door != "tls", **values
        )
