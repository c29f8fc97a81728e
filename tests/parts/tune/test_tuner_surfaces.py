"""The bench of search methods: what a surface is, and when a method has found it."""

import itertools
import json
import random

import pytest
from bench_tools import results  # noqa: F401, the path to the benches
from fake_runs import FAKE
from scenario_tools import engine
from tuner import LEAST_SAMPLES, RUN, Halves, Step, needed, read
from tuning_tools import SCENARIO, SPACE, surface

from windtunnel.errors import UserError

INFLIGHT, BATCH, RING = (32, 64, 128, 256, 512, 1024), (4, 8, 16, 32, 64), (256, 512, 1024, 2048)
START, BEST = (3, 3, 2), (1, 2, 1)


@pytest.fixture
def recorded(tmp_path):
    """A surface of 120 points, six samples each, with next to no noise."""
    (tmp_path / "echo.toml").write_text(SCENARIO)
    dice = random.Random(1)
    lines: list[dict] = [{"scenario": str(tmp_path / "echo.toml"), "space": SPACE}]
    for i, b, r in itertools.product(range(6), range(5), range(4)):
        settings = {"client.inflight": INFLIGHT[i], "client.batch.nic_rx": BATCH[b], "client.ring_size": RING[r]}
        for _ in range(6):
            lines.append({"point": [i, b, r], "sample": surface(settings) - surface({}) + dice.gauss(0, 1e-4)})
    file = tmp_path / "surface.jsonl"
    file.write_text("\n".join(map(json.dumps, lines)))
    with engine(str(FAKE)):
        yield file


def halves(file, seed=1):
    return Halves(read(file), random.Random(seed))


def test_a_surface_has_its_points_and_the_files(recorded):
    found = read(recorded)
    assert len(found.samples) == 120 and found.start == START and len(found.samples[BEST]) == 6


def test_points_with_few_samples_are_left_out(recorded):
    few = [line for n, line in enumerate(recorded.read_text().splitlines()) if n < 1 + 6 + LEAST_SAMPLES - 1]
    recorded.write_text("\n".join(few))
    assert read(recorded).samples.keys() == {(0, 0, 0), START}


@pytest.mark.parametrize("text", ["", "no json", '{"scenario": 1}', '{"scenario": "x", "space": ""}\n{"point": 1}'])
def test_what_is_no_surface_is_refused(tmp_path, text):
    (tmp_path / "x.jsonl").write_text(text)
    with pytest.raises(UserError, match=r"x\.jsonl: not a surface"):
        read(tmp_path / "x.jsonl")


def test_draws_and_scores_are_of_different_samples(recorded):
    split = halves(recorded)
    drawn = {split.draw(BEST) for _ in range(50)}
    assert len(drawn) == 3 and not drawn & {split.score[BEST]}
    rest = [sample for sample in split.surface.samples[BEST] if sample not in drawn]
    assert split.score[BEST] == pytest.approx(sum(rest) / 3)


def test_a_choice_counts_from_where_it_stays_good(recorded):
    split = halves(recorded)
    good, bad = Step(BEST, 2), Step((5, 0, 0), 4)
    assert split.good(BEST) and not split.good((5, 0, 0))
    assert needed(split, [bad, good, bad, Step(BEST, 7), Step(BEST, 8)]) == (4, 7)
    assert needed(split, [good, bad]) is None
    assert needed(split, [good]) == (1, 2)


@pytest.mark.slow
@pytest.mark.parametrize("method", RUN)
def test_every_method_finds_a_surface_without_noise(recorded, method):
    """In a fraction of its points, with this seed."""
    split = halves(recorded)
    steps = list(itertools.islice(RUN[method](split, 1), 30 if method == "random" else 15))
    assert needed(split, steps) is not None
    pairs = [step.pairs for step in steps]
    assert pairs == sorted(set(pairs)) and all(step.chosen in split.score for step in steps)


def test_remedies_that_were_recorded_come_after_the_first_trial(recorded):
    head, *rows = recorded.read_text().splitlines()
    remedy = {"changes": {"client.inflight": INFLIGHT[0]}, "why": "diagnosis: made up"}
    rows = [json.dumps(json.loads(row) | {"remedies": [remedy]}) for row in rows]
    recorded.write_text("\n".join([head, *rows]))
    split = halves(recorded)
    assert [move.why for move in split.surface.remedies[BEST][0]] == ["diagnosis: made up"]
    first, second, *_ = itertools.islice(RUN["ours"](split, 1), 3)
    assert first.chosen[0] == INFLIGHT.index(256)
    assert second.chosen[0] == 0, "from 256 in flight 32 are better"


def test_pipetune_climbs_by_the_step_that_brings_most(recorded):
    steps = list(RUN["PipeTune"](halves(recorded), 1))
    assert [step.chosen for step in steps][-1] == BEST
    apart = [sum(abs(a - b) for a, b in zip(step.chosen, BEST, strict=True)) for step in steps]
    assert apart == [3, 2, 1, 0], "one level of one factor at a time, none in vain"
