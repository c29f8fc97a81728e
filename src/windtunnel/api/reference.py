"""Generated pages of a reference."""

from typing import TYPE_CHECKING

from windtunnel.api.lazy import loader_of

if TYPE_CHECKING:
    from windtunnel.schemas.generate import write as write
    from windtunnel.schemas.scenario_page import tables as tables

__getattr__ = loader_of(__name__)
