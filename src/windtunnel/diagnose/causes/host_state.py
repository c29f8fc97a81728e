"""The state of the host: the CPUs of the workers are far apart, or another hardware thread shares a core."""

from windtunnel import format as fmt
from windtunnel.diagnose.causes.cause import Case, Check
from windtunnel.diagnose.model import Limit
from windtunnel.diagnose.observed import Observed
from windtunnel.finding import told
from windtunnel.runs.validity import HostState

UNKNOWN = "the state of the host: where the workers' CPUs are to one another"


def _find(seen: Observed, limit: Limit) -> Case | None:
    validity = told(seen.run.record.validity, UNKNOWN)
    headline = told(validity.headline_state, UNKNOWN)
    fastest = max(validity.states, key=_rate)
    if _rate(fastest) <= _rate(headline):
        return None
    return Case(
        evidence=(
            f"{headline.words}: {fmt.rate(_rate(headline))} in {headline.windows} windows; {fastest.name}: "
            f"{fmt.rate(_rate(fastest))} in {fastest.windows}"
        ),
        remedy=f"CPUs in the state {fastest.name}; a virtual machine does not choose them, but it can measure when it has them",
        sets=[f"validity.state={fastest.name}"],
        against=["the metrics are of one state: nothing in the data plane is at fault"],
    )


def _rate(state: HostState) -> float:
    """Responses a second, of all workloads."""
    return sum(state.responses_per_s.values())


CAUSE = Check("host-state", "the host is in a slow state", _find)
