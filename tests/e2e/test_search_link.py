"""A search on the real engine over an emulated link: what no host can change."""

from pathlib import Path

from scenario_tools import LENIENT

import windtunnel
from windtunnel.measure.search import Goal, Objective
from windtunnel.measure.throughput.find import Options

SCENARIO = Path(__file__).parents[2] / "scenarios" / "link.toml"
CARRIED = 100e6 / (152 * 8)
QUEUE, TRIAL_S = 128, 0.2


def test_no_load_above_the_line_passes_and_no_latency_below_the_delay(tmp_path):
    times = {
        "width": 0.1,
        "initial_trial_duration_s": TRIAL_S,
        "final_trial_duration_s": TRIAL_S,
        "duration_sum_s": 0.6,
    }
    goals = (
        Goal("NDR", 0.0, **times),
        Goal("p50", 0.5, latency=Objective(0.5, 150_000), **times),
    )
    options = Options(goals=goals, max_load=2 * CARRIED, time_s=8, latency=False, bursts=0)
    record = windtunnel.search(
        SCENARIO,
        {"client.inflight": 2048}
        | {
            key: value if key.endswith("settle") else 1
            for key, _, value in (change.partition("=") for change in LENIENT)
        },
        options,
        out=tmp_path / "found",
    )
    loss, latency = record.goals
    counted = [trial for trial in record.trials if trial.excluded is None]
    assert counted, [trial.excluded for trial in record.trials]
    # a trial carries what the line does, and hides what its queues hold
    most = CARRIED + (2 * QUEUE + 64) / TRIAL_S
    assert all(trial.loss_ratio > 0 for trial in counted if trial.load > 1.05 * most)
    assert loss.relevant_lower_bound is None or loss.relevant_lower_bound <= 1.05 * most
    # twice 100 us of delay, and 12 us on each line
    assert latency.relevant_lower_bound is None and latency.irregular
    assert all(ns is None or ns >= 224_000 for trial in counted for ns in trial.percentiles_ns.values())
    runs = {path.parent.name for path in (tmp_path / "found").glob("trial-*/run.json")}
    assert {trial.run for trial in record.trials} == runs
