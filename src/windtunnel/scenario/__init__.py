"""The scenario: one TOML file read, checked, completed, placed on a host, and turned into plans for the engine.

load -> Scenario -> resolve(on a HostView, or on two with a Cable) -> RunSpec, whose plans the engine runs.
"""

from windtunnel.scenario.host import Cable, HostView, here
from windtunnel.scenario.keys import Scenario
from windtunnel.scenario.load import load
from windtunnel.scenario.one_side import OneSide
from windtunnel.scenario.resolve import resolve
from windtunnel.scenario.run_spec import RunSpec

__all__ = ["Cable", "HostView", "OneSide", "RunSpec", "Scenario", "here", "load", "resolve"]
