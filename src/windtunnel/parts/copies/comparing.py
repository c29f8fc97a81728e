"""Which scenarios with copies can be compared."""

from windtunnel.errors import UserError
from windtunnel.parts.copies.resources import profile_of
from windtunnel.scenario.keys import Scenario


def check_sides(a: Scenario, b: Scenario) -> None:
    """Raises UserError if copies are modelled on one side only: a model is compared with a model."""
    if _is_modelled(a) != _is_modelled(b):
        raise UserError(
            f"copies are modelled only in {'A' if _is_modelled(a) else 'B'}",
            remedy="windtunnel host copies --as-profile FILE makes a model of this host's copies for the other side",
        )


def _is_modelled(scenario: Scenario) -> bool:
    """Whether its copies are a model's."""
    return any(profile_of(scenario, index) for index in range(len(scenario.workload)))
