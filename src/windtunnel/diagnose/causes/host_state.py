"""The state of the host: the CPUs of the workers are far apart, or another hardware thread shares a core."""

from windtunnel import format as fmt
from windtunnel.diagnose.causes.cause import Case, Check
from windtunnel.diagnose.model import Limit
from windtunnel.diagnose.observed import Observed
from windtunnel.finding import told


def _find(seen: Observed, limit: Limit) -> Case | None:
    validity = seen.run.record.validity
    headline = told(
        validity and validity.headline_state, "the state of the host: where the workers' CPUs are to one another"
    )
    now = sum(headline.responses_per_s.values())
    rates = {state: sum(state.responses_per_s.values()) for state in (validity.states if validity else [])}
    state = max(rates, key=lambda each: rates[each], default=headline)
    if not now or rates[state] <= now:
        return None
    return Case(
        evidence=(
            f"{headline.words}: {fmt.rate(now)} in {headline.windows} windows; {state.name}: {fmt.rate(rates[state])} in {state.windows}"
        ),
        remedy=f"CPUs in the state {state.name}; a virtual machine does not choose them, but it can measure when it has them",
        sets=[f"validity.state={state.name}"],
        against=["the metrics are of one state: nothing in the data plane is at fault"],
    )


CAUSE = Check("host-state", "the host is in a slow state", _find)
