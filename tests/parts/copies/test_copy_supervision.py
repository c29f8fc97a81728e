"""How long the supervisor waits for a run with a modelled engine."""

from types import SimpleNamespace

from windtunnel.engine import supervisor
from windtunnel.parts.copies.supervision import MODELLED_SLOWER


def test_a_run_whose_time_stands_still_at_times_may_take_longer():
    def plan(model):
        copies = [SimpleNamespace(copies=SimpleNamespace(model=model)), SimpleNamespace(copies=None)]
        return SimpleNamespace(workloads=copies)

    assert supervisor._slower(plan(None), shares=False) == 1 and supervisor._slower(plan(None), shares=True) == 2
    assert supervisor._slower(plan("figures"), shares=False) == MODELLED_SLOWER
    assert supervisor._slower(plan("figures"), shares=True) == 2 * MODELLED_SLOWER
