"""What a run makes of the lengths that a scenario gives its phases."""

from windtunnel.scenario.keys import Scenario
from windtunnel.scenario.quantities import write


def window_ns(scenario: Scenario) -> int:
    """A run shorter than a window is one window: the user shortened the run on the command line."""
    return min(scenario.window, scenario.duration)


def short_phases(scenario: Scenario) -> list[str]:
    """Notes on lengths that do not come to pass."""
    notes, validity = [], scenario.validity
    duration = write("duration", scenario.duration)
    if scenario.duration < scenario.window:
        window = write("duration", scenario.window)
        notes.append(f"the window of {window} was shortened to {duration}, the length of the run")
    if "settle" in validity.model_fields_set and 0 < validity.settle < scenario.duration:
        settle = write("duration", validity.settle)
        notes.append(
            f"validity.settle of {settle} is below the duration of {duration}: the run does not go on to settle"
        )
    return notes
