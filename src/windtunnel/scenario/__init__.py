"""The scenario: one TOML file read, checked, completed, placed on a host, and turned into plans for the engine.

load -> Scenario -> resolve(on a HostView) -> Flight, whose plans the engine flies.
"""

from windtunnel.scenario.elsewhere import Alone
from windtunnel.scenario.flight import Flight
from windtunnel.scenario.host import HostView, here
from windtunnel.scenario.keys import Scenario
from windtunnel.scenario.load import load
from windtunnel.scenario.resolve import resolve

__all__ = ["Alone", "Flight", "HostView", "Scenario", "here", "load", "resolve"]
