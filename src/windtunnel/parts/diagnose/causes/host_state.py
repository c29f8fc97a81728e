"""The state of the host: the CPUs of the workers are far apart, or another hardware thread shares a core."""

from windtunnel import format as fmt
from windtunnel.finding import require
from windtunnel.parts.diagnose.cause import Case, Check
from windtunnel.parts.diagnose.model import Limit
from windtunnel.parts.diagnose.observation import Observation
from windtunnel.runs.validity import HostState
from windtunnel.runs.variants import responses
from windtunnel.stats.mean import Estimate, mean_of

UNKNOWN = "the state of the host: how far apart the workers' CPUs are"


def _find(observation: Observation, limit: Limit) -> Case | None:
    validity = require(observation.run.record.validity, UNKNOWN)
    headline = require(validity.headline_state, UNKNOWN)
    fastest = max(validity.states, key=lambda state: _rate(observation, state).mean)
    now, then = _rate(observation, headline), _rate(observation, fastest)
    if now.high is None or then.low is None or then.low <= now.high:
        return None
    return Case(
        evidence=(
            f"{headline.words}: {fmt.rate(now.mean)} in {headline.windows} windows; {fastest.name}: {fmt.rate(then.mean)} in "
            f"{fastest.windows}"
        ),
        remedy=f"CPUs in the state {fastest.name}; a virtual machine does not choose them, but it can measure when it has them",
        sets=[f"validity.state={fastest.name}"],
        against=["the metrics belong to one state: the data plane is not the cause"],
    )


def _rate(observation: Observation, state: HostState) -> Estimate:
    """Responses per second in the windows of this state, which are those of the first engine."""
    windows = next(iter(observation.run.windows.values()), [])
    of_state = [window for window in windows if window.index in set(state.indexes)]
    rates = [responses(window) / (window.end_ns - window.start_ns) * 1e9 for window in of_state]
    return mean_of(rates) if rates else Estimate(0.0)


CAUSE = Check("host-state", "the host is in a slow state", _find)
