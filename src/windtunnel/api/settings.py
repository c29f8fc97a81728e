"""Files of settings in TOML: quantities, refusals that name the line, models."""

from typing import TYPE_CHECKING

from windtunnel.api.lazy import loader_of

if TYPE_CHECKING:
    from windtunnel.runs.record import Part as Part
    from windtunnel.scenario.load import parsed as parsed
    from windtunnel.scenario.load import refusal_of as refusal_of
    from windtunnel.scenario.overrides import as_sets as as_sets
    from windtunnel.scenario.quantities import Duration as Duration
    from windtunnel.scenario.quantities import Quantity as Quantity
    from windtunnel.scenario.quantities import Size as Size
    from windtunnel.scenario.quantities import option as option
    from windtunnel.scenario.quantities import parse as parse
    from windtunnel.scenario.quantities import write as write
    from windtunnel.scenario.refusal import Refusal as Refusal
    from windtunnel.scenario.refusal import Source as Source
    from windtunnel.scenario.refusal import dotted as dotted
    from windtunnel.scenario.refusal import shown as shown
    from windtunnel.scenario.table import Table as Table
    from windtunnel.scenario.toml_model import validated as validated
    from windtunnel.scenario.values import Cores as Cores
    from windtunnel.scenario.values import Text as Text
    from windtunnel.scenario.values import Wanted as Wanted

__getattr__ = loader_of(__name__)
