"""Files of settings in TOML: quantities, refusals that name the line, models."""

from windtunnel.runs.record import Part
from windtunnel.scenario.load import parsed, refusal_of
from windtunnel.scenario.overrides import as_sets
from windtunnel.scenario.quantities import Duration, Quantity, Size, option, parse, write
from windtunnel.scenario.refusal import Refusal, Source, dotted, shown
from windtunnel.scenario.table import Table
from windtunnel.scenario.toml_model import validated
from windtunnel.scenario.values import Cores, Text, Wanted

__all__ = [
    "Cores",
    "Duration",
    "Part",
    "Quantity",
    "Refusal",
    "Size",
    "Source",
    "Table",
    "Text",
    "Wanted",
    "as_sets",
    "dotted",
    "option",
    "parse",
    "parsed",
    "refusal_of",
    "shown",
    "validated",
    "write",
]
