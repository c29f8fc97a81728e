"""Tunings over a made-up surface with noise: what they find, what they give up, how they go on."""

import json
import math
import shutil
import tomllib

import pytest
from tuning_tools import BASE, SCENARIO, SPACE, Dying, Killed, MadeUp, settings_of, surface, tuned

from windtunnel.engine.interrupts import Interrupts
from windtunnel.errors import UserError
from windtunnel.host.states import Where
from windtunnel.measure.study.directory import opened
from windtunnel.parts.tune.first import Move
from windtunnel.parts.tune.outcome import say_failing
from windtunnel.parts.tune.rig import Measured
from windtunnel.parts.tune.tuner import FAILED_TRIALS, Silent
from windtunnel.parts.tune.tuning_record import NAME, read, trials

ONE = '[[factor]]\nkey = "client.inflight"\nvalues = [64, 256]\n'


def kept(out):
    """Bytes of each trial that has ended, by its directory."""
    return {file.parent.name: file.read_bytes() for file in (out / "trials").glob("*/trial.json")}


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2, *(pytest.param(n, marks=pytest.mark.long("crosses")) for n in (3, 4, 5))])
def test_it_finds_settings_within_5_percent_of_the_best(tmp_path, seed):
    found = tuned(tmp_path, MadeUp(seed=seed), budget=30, seed=seed)
    assert found.stopped == "budget" and found.counted == 30 and found.best is not None
    assert math.exp(surface(settings_of(found.best.sets))) > 0.95
    assert found.final is not None and found.final.confirmed and found.met
    best = tomllib.loads((tmp_path / "out" / "best.toml").read_text())
    assert str(best["client"]["inflight"]) == settings_of(found.best.sets).get("client.inflight", "256")


def test_the_chain_of_gains_is_the_gain_over_the_file(tmp_path):
    found = tuned(tmp_path, MadeUp(noise=1e-4), budget=25)
    start = surface({})
    for trial in found.trials:
        assert trial.gain == pytest.approx(surface(settings_of(trial.sets)) - start, abs=2e-3)
    better = [trial.number for trial in found.trials if trial.outcome == "better"]
    assert better and found.best and found.best.number == better[-1]
    after = [trial.incumbent for trial in found.trials if trial.number > better[-1]]
    assert set(after) <= {better[-1]}


def test_a_much_slower_candidate_gets_one_pair_and_a_like_one_all_of_them(tmp_path):
    def steep(settings):
        return -2.0 if settings.get("client.inflight") else 0.0

    found = tuned(tmp_path, MadeUp(steep), budget=20)
    pairs = {len(trial.pairs) for trial in found.trials[2:] if trial.outcome == "worse"}
    alike = [trial for trial in found.trials if trial.outcome == "no difference shown"]
    assert pairs == {1} and alike and all(len(trial.pairs) == 6 for trial in alike)
    assert found.best is None and found.met and found.final is None
    assert found.best_file is None and not (tmp_path / "out" / "best.toml").exists()


def test_a_space_that_is_used_up_ends_the_tuning(tmp_path):
    found = tuned(tmp_path, MadeUp(), space=ONE)
    assert found.stopped == "space" and found.counted == 1
    assert [trial.number for trial in found.trials] == [1]


def test_a_larger_budget_goes_on(tmp_path):
    first = tuned(tmp_path, MadeUp(), budget=3)
    before = kept(first.path)
    second = tuned(tmp_path, MadeUp(seed=2), budget=6)
    assert second.counted == 6 and {name: kept(second.path)[name] for name in before} == before


@pytest.mark.parametrize("after", [0, 1, 7, 20])
def test_a_killed_tuning_repeats_no_trial_that_had_ended(tmp_path, after):
    with pytest.raises(Killed):
        tuned(tmp_path, Dying(after, noise=0.05), budget=10)
    out = tmp_path / "out"
    before = kept(out)
    again = MadeUp(seed=3)
    found = tuned(tmp_path, again, budget=10)
    assert found.counted == 10 and {name: kept(out)[name] for name in before} == before
    assert not before.keys() & {directory.name for directory, *_ in again.pairs}
    assert len(list((out / "aborted").iterdir())) == 1
    assert [trial.number for trial in trials(out)] == list(range(1, 11))


@pytest.mark.slow
def test_a_tuning_comes_to_the_same_candidates_however_often_it_is_begun(tmp_path):
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    whole.mkdir()
    parts.mkdir()
    one = tuned(whole, MadeUp(noise=0), budget=12)
    for budget in (1, 2, 5, 12):
        several = tuned(parts, MadeUp(noise=0), budget=budget)
    assert [trial.sets for trial in one.trials] == [trial.sets for trial in several.trials]


def test_killed_while_the_winner_was_measured(tmp_path):
    first = tuned(tmp_path, MadeUp(), budget=12)
    assert first.final is not None and first.final.confirmed
    (place,) = first.path.glob("final-*")
    before = (first.path / "best.toml").read_text()
    (place / "final.json").unlink()
    (first.path / "best.toml").rename(tmp_path / "mine.toml")
    second = tuned(tmp_path, MadeUp(seed=5), budget=12)
    assert second.final is not None and second.final.confirmed
    assert (first.path / "best.toml").read_text().split("[client]")[1] == before.split("[client]")[1]
    assert [file.name for file in (first.path / "aborted").iterdir()] == [place.name]


def test_a_better_winner_takes_the_place_of_an_earlier_one(tmp_path):
    def deep(settings):
        return 0.2 * math.log2(int(settings.get("client.inflight", 256)))

    space = '[[factor]]\nkey = "client.inflight"\nvalues = [64, 256, 512, 1024]\n'
    first = tuned(tmp_path, MadeUp(lambda settings: min(deep(settings), 1.8)), budget=1, space=space)
    assert first.best_file is not None and "inflight = 1024" in first.best_file.read_text()
    (tmp_path / "out" / "trials" / "001").rename(tmp_path / "gone")
    second = tuned(tmp_path, MadeUp(lambda settings: -deep(settings)), budget=3, space=space)
    assert second.best_file is not None and "inflight = 64" in second.best_file.read_text()


def test_best_toml_of_the_user_is_not_overwritten(tmp_path):
    first = tuned(tmp_path, MadeUp(), budget=12)
    (place,) = first.path.glob("final-*")
    shutil.rmtree(place)
    (first.path / "best.toml").write_text("mine")
    with pytest.raises(UserError, match="best.toml: exists already"):
        tuned(tmp_path, MadeUp(), budget=12)
    assert (first.path / "best.toml").read_text() == "mine"


@pytest.mark.parametrize("failure", ["crashed", "hung", "refused", "invalid"])
def test_five_failed_trials_in_a_row_and_the_host_is_too_busy(tmp_path, failure):
    found = tuned(tmp_path, MadeUp(failing=lambda settings: failure))
    assert found.stopped == "busy" and found.counted == 0 and not found.met
    assert [trial.failure for trial in found.trials] == [failure] * FAILED_TRIALS
    assert all(trial.reasons == [f"made up: {failure}"] for trial in found.trials)


@pytest.mark.slow
def test_failed_trials_are_counted_apart_and_their_settings_not_tried_again(tmp_path):
    def fragile(settings):
        return "crashed" if settings.get("client.batch.nic_rx") == "64" else None

    found = tuned(tmp_path, MadeUp(failing=fragile), budget=25, seed=2)
    assert found.counted == 25 and len(found.trials) == 25 + len(found.failed)
    assert found.failed and all("nic_rx=64" in ", ".join(trial.sets) for trial in found.failed)
    points = [tuple(trial.point) for trial in found.trials if trial.point]
    assert len(points) == len(set(points))
    assert all(len(trial.pairs) == 1 for trial in found.failed), "what crashes does so again"


@pytest.mark.parametrize("failure", ["crashed", "hung", "invalid"])
def test_a_file_whose_own_trial_fails_five_times_is_said(tmp_path, failure, capsys):
    found = tuned(tmp_path, MadeUp(failing=lambda settings: failure), slo=LIMIT, rate="1k")
    assert found.stopped == "busy" and found.trials == [] and len(found.of_file_failed) == FAILED_TRIALS
    say_failing(found, tmp_path / "echo.toml")
    assert f"the last one: made up: {failure}" in capsys.readouterr().err


def test_a_file_that_is_refused_is_a_refusal(tmp_path):
    with pytest.raises(UserError, match="refused as it is: made up: refused") as refused:
        tuned(tmp_path, MadeUp(failing=lambda settings: "refused"), slo=LIMIT, rate="1k")
    assert refused.value.remedy.startswith("windtunnel run ")


class BusyAtFirst(MadeUp):
    """The first runs, two a pair, are invalid."""

    def __init__(self, runs, **more):
        super().__init__(failing=self.failing_now, **more)
        self.left = runs

    def failing_now(self, settings):
        self.left -= 1
        return "invalid" if self.left >= 0 else None


def test_an_invalid_run_is_run_again_before_the_trial_fails(tmp_path):
    (trial,) = tuned(tmp_path, BusyAtFirst(4), budget=1).trials
    assert trial.failure is None and [pair.excluded is None for pair in trial.pairs][:3] == [False, False, True]
    shutil.rmtree(tmp_path / "out")
    first, second, *_ = tuned(tmp_path, BusyAtFirst(6, noise=1e-4), budget=3).trials
    assert first.failure == "invalid" and second.failure is None, "what was invalid gets a second trial"
    assert (first.point, first.move) == (second.point, second.move)


def test_interrupted_it_keeps_what_has_ended(tmp_path):
    class Impatient(Silent):
        def trial_ended(self, trial, ran_now):
            if trial.number == 2:
                interrupts.count += 1

    with Interrupts() as interrupts:
        found = tuned(tmp_path, MadeUp(), watcher=Impatient(), interrupts=interrupts)
    assert found.stopped == "interrupted" and [trial.number for trial in found.trials] == [1, 2]
    assert tuned(tmp_path, MadeUp(), budget=4).counted == 4


def begun(directory, **more):
    """The directory of a tuning of one trial."""
    tuned(directory, MadeUp(), budget=1, **more)
    return directory / "out"


def continued_elsewhere(directory, words, **change):
    with pytest.raises(UserError, match=words):
        tuned(directory, MadeUp(), budget=1, **change)


@pytest.mark.parametrize(
    "change",
    [
        {"seed": 2},
        {"space": SPACE.replace("512, 1024]", "512]")},
        {"space": None},
        {"slo": "p99=50us", "rate": "1k"},
        {"objective": "pareto"},
        {"sets": ("duration=80ms",)},
    ],
)
def test_another_tuning_in_the_same_directory_is_refused(tmp_path, change):
    begun(tmp_path)
    continued_elsewhere(tmp_path, "cannot continue: the tuning has changed since it began", **change)


def test_a_changed_scenario_another_host_and_a_damaged_trial_are_refused(tmp_path):
    file = begun(tmp_path, sets=("duration=50ms",)) / NAME
    record, text = read(tmp_path / "out"), file.read_text()
    assert record.goal.text == "throughput" and record.sets == ["duration=50ms"] and record.points == 120
    assert record.scenario.text == SCENARIO and record.space is not None and record.space.text == SPACE
    document = json.loads(text)
    document["host"]["hostname"] = "elsewhere"
    file.write_text(json.dumps(document))
    continued_elsewhere(tmp_path, "hostname", sets=("duration=50ms",), from_elsewhere=True)
    file.write_text(text)
    (tmp_path / "echo.toml").write_text(SCENARIO.replace("l_app", "m_app"))
    continued_elsewhere(tmp_path, "m_app", sets=("duration=50ms",))
    (tmp_path / "echo.toml").write_text(SCENARIO)
    (tmp_path / "out" / "trials" / "001" / "trial.json").write_text('{"version": 1')
    continued_elsewhere(tmp_path, r"001/trial\.json: not JSON", sets=("duration=50ms",))


@pytest.mark.parametrize(
    "change",
    [
        {"sets": ["workload.0.handler=./sent.so"]},
        {"sets": ["client.inflight=31"]},
        {"point": None, "sets": ["workload.0.handler=./sent.so"]},
        {"point": [9, 9, 9]},
        {"point": [-1, 0, 0]},
        {"point": [1]},
    ],
    ids=str,
)
def test_a_trial_runs_what_the_space_has_and_nothing_else(tmp_path, change):
    """trial.json of a directory that somebody sent."""
    begun(tmp_path)
    file = next((tmp_path / "out" / "trials").glob("*/trial.json"))
    file.write_text(json.dumps(json.loads(file.read_text()) | {"outcome": "better"} | change))
    continued_elsewhere(tmp_path, "has settings that the space does not have at its point")


def test_a_directory_in_use_and_a_foreign_one_are_refused(tmp_path):
    with opened(tmp_path / "out", NAME, "tuning"):
        continued_elsewhere(tmp_path, "another process runs this tuning")
    shutil.rmtree(tmp_path / "out")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "study.json").write_text("{}")
    continued_elsewhere(tmp_path, r"is not a tuning: it contains study\.json")


def test_a_scenario_that_changes_while_it_is_tuned_ends_the_tuning(tmp_path):
    class Editing(Silent):
        def trial_ended(self, trial, ran_now):
            (tmp_path / "echo.toml").write_text(SCENARIO.replace("60ms", "80ms"))

    with pytest.raises(UserError, match="changed while it was tuned"):
        tuned(tmp_path, MadeUp(), watcher=Editing())
    assert [trial.number for trial in trials(tmp_path / "out")] == [1]


def test_pairs_of_two_host_states_do_not_count(tmp_path):
    class Moving(MadeUp):
        def pair(self, incumbent, candidate, directory, number):
            states = ("one-l3", "two-l3s") if number % 2 else ("one-l3", "one-l3")
            return tuple(Measured(BASE, {}, Where(state, 100.0 if state == "one-l3" else 400.0)) for state in states)

    (trial,) = tuned(tmp_path, Moving(), budget=1).trials
    assert trial.outcome == "no difference shown" and len(trial.pairs) == 12
    assert [pair.excluded is not None for pair in trial.pairs] == [True, False] * 6
    assert "two states of the host" in (trial.pairs[0].excluded or "")


LIMIT = "p99=50us"


def deeper(settings):
    """Latency grows with what is in flight: 64 stay below 50 us."""
    return 500.0 * int(settings.get("client.inflight", 256))


def test_an_slo_binds_the_winner(tmp_path):
    def deep(settings):
        return 0.1 * math.log2(int(settings.get("client.inflight", 256)))

    found = tuned(tmp_path, MadeUp(deep, latency=deeper), budget=15, slo=LIMIT, rate="1k")
    file = found.trials[0]
    assert file.number == 0 and file.outcome == "misses the SLO" and len(file.latency.ns) == 1, "one run is enough"
    assert found.best is not None and settings_of(found.best.sets)["client.inflight"] == "64"
    assert all(
        trial.latency.met is False and not trial.pairs for trial in found.trials if trial.outcome == "misses the SLO"
    )
    assert not found.final.confirmed and "slower than the file" in found.final.reasons[0]


def test_the_upper_bound_counts_not_the_median(tmp_path):
    class Rare(MadeUp):
        def alone(self, sets, directory):
            measured = super().alone(sets, directory)
            slow = directory.name == "06"
            return type(measured)(measured.rate, {"p99": 60e3 if slow else 10e3})

    (file, *_) = tuned(tmp_path, Rare(), budget=1, slo=LIMIT, rate="1k").trials
    assert file.outcome == "misses the SLO" and len(file.latency.ns) == 6


def test_each_run_of_a_latency_has_its_own_directory(tmp_path):
    """Invalid ones between them: what an earlier run left is not run again, and is in nobody's way."""

    class Busy(MadeUp):
        def failing_now(self, settings):
            return "invalid" if len(self.alones) in (1, 2, 5) else None

    engines = Busy(noise=1e-4)
    engines.failing = engines.failing_now
    (file, *_) = tuned(tmp_path, engines, budget=1, slo=LIMIT, rate="1k").trials
    directories = [directory for directory, _ in engines.alones]
    assert file.outcome == "measured" and [each.name for each in directories[:9]] == [f"{n:02}" for n in range(1, 10)]
    assert len(set(directories)) == len(directories)


CORES = """\
[[factor]]
key = "server.cores"
values = [[7], [7, 6], [7, 6, 5], [7, 6, 5, 4]]

[[factor]]
name = "split"
keys = ["workload.0.apps", "workload.0.dispatchers"]
values = [1, 2, 3, 4]
"""


def test_a_latency_without_a_bound_misses_the_slo(tmp_path):
    found = tuned(tmp_path, MadeUp(latency=lambda settings: None), budget=1, slo=LIMIT, rate="1k")
    assert {trial.outcome for trial in found.trials} == {"misses the SLO"} and not found.met
    assert "lost or unsent" in found.trials[0].reasons[0]


def test_the_fewest_cores_that_meet_the_slo(tmp_path):
    def waiting(settings):
        cores = len(json.loads(settings.get("server.cores", "[7]")))
        used = min(cores, int(settings.get("workload.0.apps", 1)))
        return 120e3 / used  # 50 us with three

    asked = {"objective": "cores", "slo": LIMIT, "rate": "1k", "space": CORES, "cpus": 8}
    found = tuned(tmp_path, MadeUp(latency=waiting), **asked)
    assert found.best is not None and found.best.workers == 3 and found.stopped == "space"
    assert found.final is not None and found.final.confirmed and found.met
    assert all(trial.workers < 3 for trial in found.trials if trial.number > found.best.number)
    assert not any(trial.pairs for trial in found.trials)
    shutil.rmtree(tmp_path / "out")
    enough = tuned(tmp_path, MadeUp(), **asked)  # with the one core of the file
    assert [trial.number for trial in enough.trials] == [0] and enough.met and enough.best is None


def test_a_front_of_throughput_and_latency(tmp_path):
    def deep(settings):
        return 0.1 * math.log2(int(settings.get("client.inflight", 256)))

    space = '[[factor]]\nkey = "client.inflight"\nvalues = [32, 64, 128, 256, 512, 1024]\n'
    rig = MadeUp(deep, latency=deeper, noise=0.001)
    found = tuned(tmp_path, rig, objective="pareto", rate="1k", space=space)
    assert found.stopped == "space" and found.counted == 5 and found.met
    depths = [int(settings_of(trial.sets).get("client.inflight", 256)) for trial in found.front]
    assert depths == [1024, 512, 256, 128, 64, 32]
    assert {trial.incumbent for trial in found.trials} == {0} and found.best is None
    shutil.rmtree(tmp_path / "out")
    some = tuned(tmp_path, MadeUp(surface, latency=deeper), objective="pareto", rate="1k", budget=20)
    ends = [(trial.gain, -min(trial.latency.ns)) for trial in some.front]
    assert ends and len(some.front) < 21 and ends == sorted(ends, reverse=True), "what is worse in both is left out"


def test_remedies_of_a_diagnosis_come_as_soon_as_there_is_a_run(tmp_path):
    rig = MadeUp(noise=1e-4, diagnosed=lambda now: [Move({"client.inflight": 64}, f"diagnosis: {len(now)} changed")])
    first, second, *_ = tuned(tmp_path, rig, budget=3).trials
    assert first.move == 0 and not first.why.startswith("diagnosis")
    assert second.why == "diagnosis: 0 changed" and second.move is None, "of the file"
    assert settings_of(second.sets)["client.inflight"] == "64"
    assert rig.diagnoses[0] == (tmp_path / "out" / "trials" / "001", "incumbent", 1)


def test_each_incumbent_is_diagnosed_once(tmp_path):
    def deep(settings):
        return -0.1 * abs(math.log2(int(settings.get("client.inflight", 256)) / 32))

    rig = MadeUp(deep, noise=1e-4, diagnosed=lambda now: [Move({"client.inflight": 1}, f"after {len(now)}")])
    found = tuned(tmp_path, rig, budget=12)
    better = [trial for trial in found.trials if trial.outcome == "better"]
    assert better[0].why == "after 0" and settings_of(found.best.sets)["client.inflight"] == "32"
    points = [tuple(trial.point) for trial in found.trials]
    assert len(points) == len(set(points)), "what did not help is not tried again"
    assert rig.diagnoses == [
        (tmp_path / "out" / "trials" / "001", "incumbent", 1),
        *((tmp_path / "out" / "trials" / f"{trial.number:03}", "candidate", 1) for trial in better),
    ]


def test_a_move_that_helped_is_made_again_from_where_it_led(tmp_path):
    def steep(settings):
        return 0.3 * math.log2(int(settings.get("client.batch.nic_rx", 4)))

    space = """\
[[factor]]
name = "batch"
keys = ["client.batch.nic_rx", "server.batch.nic_rx"]
values = [4, 8, 16, 32, 64]
"""
    batch = "batch.nic_rx = 4\n"
    scenario = SCENARIO.replace("[client]\n", f"[server]\n{batch}\n[client]\n{batch}")
    first, second, *rest = tuned(tmp_path, MadeUp(steep, noise=1e-4), space=space, scenario=scenario).trials
    sizes = [settings_of(trial.sets)["client.batch.nic_rx"] for trial in (first, second)]
    assert sizes == ["16", "64"] and first.move == second.move == 0
    assert all(trial.move != 0 for trial in rest)


def test_what_was_invalid_twice_is_left_out(tmp_path):
    def never(settings):
        return "invalid" if settings.get("client.batch.nic_rx") == "64" else None

    found = tuned(tmp_path, MadeUp(noise=1e-4, failing=never), budget=10)
    points = [tuple(trial.point) for trial in found.failed]
    assert points and all(points.count(point) == 2 for point in points) and found.counted == 10
