"""What may be sought of which scenario; the rest is refused in words."""

import pytest
from fake_runs import FAKE
from scenario_tools import engine, loaded
from tuning_tools import SCENARIO

from windtunnel.errors import UserError
from windtunnel.parts.tune.goal import Goal, Slo, check, goal

OPEN = SCENARIO.replace("inflight = 256", "rate = 1000")


@pytest.fixture(autouse=True)
def fake():
    with engine(str(FAKE)):
        yield


def test_options_become_a_goal():
    found = goal("throughput", "p99=50us", "2M")
    assert found == Goal("throughput", Slo("p99", 50_000.0), 2e6)
    assert found.text == "throughput, p99 at most 50us at 2Mpps" and found.offered == ("client.rate=2000000.0",)
    assert goal("pareto", None, "1k").latency == "p99" and goal("pareto", None, None).latency is None
    assert goal("cores", "p99.9=1ms", None).latency == "p99.9" and not goal("cores", "p99.9=1ms", None).pairs


@pytest.mark.parametrize(
    ("slo", "rate", "option"),
    [
        *((slo, "1k", "--slo") for slo in ("p99", "p98=5us", "=5us", "p99=5", "p99=fast", "p99=0us", "p99=2h")),
        *(("p99=5us", rate, "--rate") for rate in ("-1", "many", "0")),
    ],
)
def test_what_is_malformed_is_refused(slo, rate, option):
    with pytest.raises(UserError, match=option):
        goal("throughput", slo, rate)


@pytest.mark.parametrize(
    ("scenario", "words", "said"),
    [
        (SCENARIO, ("throughput", "p99=50us", None), "a closed loop's latency is the time in the client's own queue"),
        (SCENARIO, ("cores", "p99=50us", None), "a closed loop's latency"),
        (SCENARIO, ("cores", None, "1k"), "how many are enough depends on an SLO"),
        (SCENARIO, ("throughput", None, "1k"), "--rate has no effect without --slo"),
        (SCENARIO, ("pareto", "p99=50us", "1k"), "takes no --slo"),
        (OPEN, ("throughput", None, None), "an open loop's throughput is the rate that is offered"),
        (OPEN, ("pareto", None, None), "an open loop's throughput is the rate that is offered"),
        (SCENARIO + "rate = 5\n", ("cores", "p99=50us", "1k"), "workloads with rates of their own"),
    ],
)
def test_what_cannot_be_sought_is_refused_in_words(tmp_path, scenario, words, said):
    with pytest.raises(UserError) as refused:
        check(goal(*words), loaded(tmp_path, scenario))
    assert said in refused.value.message and refused.value.remedy


@pytest.mark.parametrize(
    ("scenario", "words"),
    [
        (SCENARIO, ("throughput", None, None)),
        (SCENARIO, ("throughput", "p99=50us", "1k")),
        (SCENARIO, ("cores", "p99=50us", "1k")),
        (SCENARIO, ("pareto", None, None)),
        (SCENARIO, ("pareto", None, "1k")),
        (OPEN, ("cores", "p99=50us", None)),
        (OPEN, ("cores", "p99=50us", "2k")),
    ],
)
def test_the_rest_may_be_sought(tmp_path, scenario, words):
    check(goal(*words), loaded(tmp_path, scenario))
