"""Study files: what they may say, and how what they may not say is refused, with file and line."""

import re

import pytest
from fake_runs import FAKE
from hypothesis import given
from hypothesis import strategies as st
from properties import examples
from scenario_tools import engine, machine
from study_tools import HEAD, ONE_FACTOR, written

from windtunnel.errors import UserError
from windtunnel.measure.study import constraints, definition, factors, values
from windtunnel.measure.study.definition import Factor
from windtunnel.measure.study.design import design
from windtunnel.scenario import load
from windtunnel.scenario.refusal import Refusal

TWO = '[[factor]]\nname = "a"\nkey = "client.inflight"\nvalues = [32, 64]\n'
BATCH = '[[factor]]\nname = "batch"\nkey = "client.batch.app_tx"\nvalues = [16, 32, 64]\n'


@pytest.fixture(autouse=True)
def fake_engine():
    with engine(str(FAKE)):
        yield


def designed(directory, text: str, sets: tuple[str, ...] = (), head: str = HEAD, **host):
    return design(definition.read(written(directory, text, head)), list(sets), machine(**host))


def refused(directory, text: str, sets: tuple[str, ...] = (), head: str = HEAD) -> UserError:
    with pytest.raises(UserError) as refusal:
        designed(directory, text, sets, head)
    assert refusal.value.remedy, refusal.value.message
    return refusal.value


def levels_of(**keys) -> values.Levels:
    return values.levels(Factor.model_validate({"key": "client.inflight", **keys}))


def labels_of(**keys) -> list[str]:
    return [level.label for level in levels_of(**keys).members]


def test_points_are_all_combinations_with_their_keys(tmp_path):
    made = designed(tmp_path, ONE_FACTOR + BATCH, head=HEAD + 'constraints = ["inflight >= batch"]\n')
    pairs = [(32, 16), (32, 32), *((inflight, batch) for inflight in (64, 128) for batch in (16, 32, 64))]
    assert [made.describe_point(point) for point in made.points] == [f"inflight {a}, batch {b}" for a, b in pairs]
    last = made.points[-1]
    assert last.name == "8-inflight-128-batch-64"
    assert (last.scenario.client.inflight, last.scenario.client.batch.app_tx) == (128, 64)
    assert made.cells(last) == {"inflight": 128, "batch": 64}


def test_several_keys_change_together(tmp_path):
    text = '[[factor]]\nname = "both"\nkeys = ["workload.0.apps", "workload.0.dispatchers"]\nvalues = [1, [2, 1]]\n'
    made = designed(tmp_path, text)
    assert [(p.scenario.workload[0].apps, p.scenario.workload[0].dispatchers) for p in made.points] == [(1, 1), (2, 1)]
    assert [point.levels[0].label for point in made.points] == ["1", "2, 1"]


def test_set_applies_to_every_point_and_the_command_line_wins(tmp_path):
    head = HEAD + '[set]\nduration = "1s"\nserver.ring_size = 64\n'
    made = designed(tmp_path, ONE_FACTOR, ("duration=2s",), head)
    assert {point.scenario.duration for point in made.points} == {2 * 10**9}
    assert {point.scenario.server.ring_size for point in made.points} == {64}


@pytest.mark.parametrize(
    ("keys", "labels"),
    [
        ({"range": {"from": 1, "to": 9, "step": 4}}, ["1", "5", "9"]),
        ({"range": {"from": 1, "to": 8, "step": 4}}, ["1", "5"]),
        ({"range": {"from": 0.1, "to": 0.3, "step": 0.1}}, ["0.1", "0.2", "0.3"]),
        ({"range": {"from": "64B", "to": "192B", "step": 64}}, ["64B", "128B", "192B"]),
        ({"range": {"from": "1ms", "to": "3ms", "step": "1ms"}}, ["1ms", "2ms", "3ms"]),
        ({"log": {"from": 32, "to": 512, "points": 5}}, ["32", "64", "128", "256", "512"]),
        ({"log": {"from": 1, "to": 100, "points": 3}}, ["1", "10", "100"]),
        ({"log": {"from": 0.01, "to": 1.0, "points": 3}}, ["0.01", "0.1", "1.0"]),
        ({"log": {"from": "64B", "to": "1KiB", "points": 3}}, ["64B", "256B", "1KiB"]),
        ({"log": {"from": "100kpps", "to": "1Mpps", "points": 3}}, ["100kpps", "316228pps", "1Mpps"]),
        ({"values": ["64B", "1KiB", 100]}, ["64B", "1KiB", "100"]),
        ({"values": [True, False]}, ["true", "false"]),
        ({"values": ["l_app", "m_app"]}, ["l_app", "m_app"]),
        ({"values": [[0], [0, 1]]}, ["[0]", "[0, 1]"]),
        ({"values": [[0], [0, 1]], "labels": [1, 2]}, ["1", "2"]),
    ],
)
def test_values(keys, labels):
    assert labels_of(**keys) == labels


@pytest.mark.parametrize(
    ("given_values", "cells", "kind", "unit"),
    [
        ([1, 2], [1, 2], "BIGINT", None),
        ([1, 2.5], [1.0, 2.5], "DOUBLE", None),
        ([True, False], [True, False], "BOOLEAN", None),
        (["64B", "1KiB", 100], [64, 1024, 100], "BIGINT", "size"),
        (["1ms", "10us"], [1_000_000, 10_000], "BIGINT", "duration"),
        (["1kpps", "2.5kpps"], [1000.0, 2500.0], "DOUBLE", "rate"),
        (["1k", "2M"], [1000, 2_000_000], "BIGINT", "count"),
        (["auto", 64], ["auto", "64"], "VARCHAR", None),
        ([True, 1], ["true", "1"], "VARCHAR", None),
        (["64", "65"], ["64", "65"], "VARCHAR", None),
    ],
)
def test_columns_have_the_narrowest_type_of_their_values(given_values, cells, kind, unit):
    found = levels_of(values=given_values)
    assert [level.cell for level in found.members] == cells
    assert [type(level.cell) for level in found.members] == [type(cell) for cell in cells]
    assert (found.type, found.unit) == (kind, unit)


@pytest.mark.parametrize(
    ("numbers", "log"),
    [
        *((ratios, True) for ratios in ([32, 64, 128], [1, 10, 100])),
        *((others, False) for others in ([1, 2, 3], [1, 2], [0, 1, 2], [4, 2, 1])),
    ],
)
def test_equal_ratios_of_values_give_a_logarithmic_axis(numbers, log):
    assert levels_of(values=numbers).log is log


@examples(40)
@given(st.integers(1, 10**6), st.integers(2, 10**6), st.integers(2, 40))
def test_log_ranges_rise_from_one_end_to_the_other(first, times, points):
    last = first * times
    try:
        cells = [level.cell for level in levels_of(log={"from": first, "to": last, "points": points}).members]
    except Refusal as refusal:
        assert "but the range has fewer whole numbers" in refusal.what
        return
    assert cells[0] == first and cells[-1] == last and len(cells) == points
    assert cells == sorted(set(cells))


@examples(25)
@given(st.integers(-(10**6), 10**6), st.integers(0, 999), st.integers(1, 10**4))
def test_ranges_hold_every_step(first, steps, step):
    cells = [level.cell for level in levels_of(range={"from": first, "to": first + steps * step, "step": step}).members]
    assert cells == list(range(first, first + steps * step + 1, step))


@examples(20)
@given(st.lists(st.integers(1, 12), min_size=1, max_size=3), st.integers(0, 25))
def test_constraints_keep_matching_points(widths, limit):
    made = [
        factors.Factor(
            f"f{n}", (f"k{n}",), values.levels(Factor.model_validate({"key": "k", "values": [*range(width)]}))
        )
        for n, width in enumerate(widths)
    ]
    total = " + ".join(factor.name for factor in made)
    everything = constraints.combinations(made, [])
    kept = [point for point in everything if sum(point) <= limit and point[0] % 2 == 0]
    assert constraints.combinations(made, [f"{total} <= {limit}", "f0 % 2 = 0"]) == kept


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("", 1, "factor is missing"),
        ("[[factor]]\n", 3, "takes either key or keys"),
        ('[[factor]]\nkey = "a"\nkeys = ["b"]\nvalues = [1]\n', 3, "takes either key or keys"),
        ('[[factor]]\nkey = "client.inflight"\n', 3, "takes one of values, range and log"),
        ('[[factor]]\nkey = "client.inflight"\nvalues = []\n', 5, "factor.0.values has 0 entries"),
        ('[[factor]]\nkey = "client.inflight"\nvalue = [1]\n', 5, 'unknown key "value" in [factor]'),
        ('[[factor]]\nkey = "client inflight"\nvalues = [1]\n', 4, '"client inflight" is not a key of a scenario'),
        ('[[factor]]\nkey = "client.inflight"\nvalues = [{a = 1}]\n', 5, "a table is not a value of a factor"),
        ('[[factor]]\nkey = "client.inflight"\nvalues = [nan]\n', 5, "nan is not a number"),
        ('[[factor]]\nkey = "client.inflight"\nvalues = [32, 32]\n', 5, "32 is given twice"),
        ('[[factor]]\nkey = "client.inflight"\nvalues = ["1KiB", "1024B"]\n', 5, '"1024B" is given twice'),
        ('[[factor]]\nkey = "client.inflight"\nvalues = [32, 64]\nlabels = ["x"]\n', 6, "1 labels for 2 values"),
        ('[[factor]]\nkeys = ["client.inflight", "seed"]\nvalues = [[32, 64, 1]]\n', 5, "a list of 3 for 2 keys"),
        ('[[factor]]\nkey = "client.inflight"\nrange = {from = 2, to = 1, step = 1}\n', 5, "the range is empty"),
        ('[[factor]]\nkey = "client.inflight"\nrange = {from = 1, to = 2, step = 0}\n', 5, "the range is empty"),
        ('[[factor]]\nkey = "client.inflight"\nrange = {from = 1, to = 9999, step = 1}\n', 5, "9999 values"),
        ('[[factor]]\nkey = "client.inflight"\nrange = {from = "1B", to = "1ms", step = 1}\n', 3, "another unit"),
        ('[[factor]]\nkey = "client.inflight"\nlog = {from = 0, to = 9, points = 3}\n', 5, "the range is empty"),
        (
            '[[factor]]\nkey = "client.inflight"\nlog = {from = 1, to = 3, points = 9}\n',
            5,
            "9 points, but the range has fewer",
        ),
        ('[[factor]]\nkey = "client.inflight"\nlog = {from = 1, to = 3}\n', 5, "factor.0.log.points is missing"),
        ('[[factor]]\nkey = "client.inflight"\nlog = {from = 1, to = 3, points = 1}\n', 5, "factor.0.log.points is 1"),
        ('[[factor]]\nkey = "wire.copy"\nname = "p99"\nvalues = [1]\n', 3, '"p99" is a column of the table already'),
        (
            '[[factor]]\nkey = "wire.copy"\nname = "Point"\nvalues = [1]\n',
            3,
            '"Point" is a column of the table already',
        ),
        ('[[factor]]\nkey = "wire.copy"\nname = "a b"\nvalues = [1]\n', 5, 'factor.0.name is "a b"'),
        ('[[factor]]\nkey = "workload.0"\nvalues = [1]\n', 3, '"0" is not a valid column name'),
        (TWO + TWO.replace("inflight", "mtu"), 7, 'two factors are called "a"'),
        (TWO + ONE_FACTOR, 8, "the factor inflight and the factor a both change client.inflight"),
        (TWO + '[[factor]]\nname = "b"\nkey = "client"\nvalues = [1]\n', 9, "one contains the other"),
        ('[[factor]]\nname = "b"\nkeys = ["seed", "seed"]\nvalues = [1]\n', 5, "both change seed"),
        (ONE_FACTOR + "[set]\nclient.inflight = 3\n", 7, "[set] and the factor inflight both change client.inflight"),
        (ONE_FACTOR + '[set]\n"client.inflight" = 3\n', 7, "both change client.inflight"),
        (ONE_FACTOR + "[set]\nwarmup = 1979-05-27\n", 7, "is not a value of a factor"),
        ('[[factor]]\nkey = "client.inflight"\nvalues = [64, 0]\n', 5, "inflight: client.inflight is 0"),
        (
            '[[factor]]\nkey = "client.inflight"\nvalues = [\n64,\n"many",\n]\n',
            7,
            'inflight: client.inflight is "many"',
        ),
        ('[[factor]]\nkey = "client.inflights"\nvalues = [64]\n', 5, 'unknown key "inflights" in [client]'),
        (ONE_FACTOR + '[set]\nwarmup = "soon"\n', 7, 'warmup: "soon" is not a duration'),
        ('[[factor]]\nkey = "workload.0.handler"\nvalues = ["l_app", "l_ape"]\n', 5, 'no message handler "l_ape"'),
        (
            '[[factor]]\nkey = "client.mempool.size"\nvalues = [4096, 4]\n',
            5,
            "size: client: the traffic can hold 5063 mbufs, the pool has 4096",
        ),
    ],
)
def test_errors_are_reported_with_their_line(tmp_path, text, line, words):
    error = refused(tmp_path, text)
    assert words in error.message
    assert error.message.startswith(f"{tmp_path / 'far.toml'}:{line}: "), error.message


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ('constraints = ["inflight >"]', "syntax error"),
        ('constraints = ["inflight"]', "no comparison: it gives bigint"),
        ('constraints = ["nothing > 3"]', 'column "nothing" not found'),
        ('constraints = ["inflight > 3; drop table points"]', "is not an expression"),
        ('constraints = ["inflight > 3) from points --"]', "syntax error"),
        (
            "constraints = [\"(select count(*) from read_text('/etc/passwd')) > 0\"]",
            "subquery is not for constraints",
        ),
        ("constraints = [\"repeat('x', inflight) = 'x'\"]", "repeat is not for constraints"),
        ('constraints = ["len(range(inflight)) > 1"]', "len is not for constraints"),
        ('constraints = ["[x for x in [inflight]][1] > 1"]', "is not for constraints"),
        ('constraints = ["count(*) over () > 1"]', "window is not for constraints"),
        ('constraints = ["inflight > null"]', "neither true nor false if inflight is 32"),
        ('constraints = ["inflight > 32", "inflight < 64"]', 'no point meets "inflight < 64"'),
        ("constraints = [\"error('boo') is null\"]", "boo"),
        ('metrics = ["p98"]', 'no metric "p98"'),
        ('metrics = ["workload"]', 'no metric "workload"'),
        ("repeats = 0", "repeats is 0"),
        ('repeats = "three"', 'repeats is "three"'),
        ("retries = 10", "retries is 10"),
        ("seed = -1", "seed is -1"),
        ("[client]", "a scenario, not a study"),
    ],
)
def test_errors_in_the_head(tmp_path, key, words):
    error = refused(tmp_path, ONE_FACTOR, head=f"{HEAD}{key}\n")
    assert words in error.message
    assert error.message.startswith(f"{tmp_path / 'far.toml'}:3: "), error.message


def test_points_that_a_constraint_excludes_are_not_checked(tmp_path):
    text = '[[factor]]\nkey = "client.inflight"\nvalues = [0, 64]\n'
    made = designed(tmp_path, text, head=HEAD + 'constraints = ["inflight > 0"]\n')
    assert len(made.points) == 1


def test_too_many_points(tmp_path):
    one = '[[factor]]\nname = "{0}"\nkey = "client.{0}"\nrange = {{from = 1, to = 1000, step = 1}}\n'
    assert "1,000,000 points" in refused(tmp_path, one.format("inflight") + one.format("mtu")).message
    head = HEAD + 'constraints = ["inflight <= 6"]\n'
    fewer = one.format("inflight").replace("1000", "99") + one.format("mtu")
    assert "6,000 points" in refused(tmp_path, fewer, head=head).message


def test_a_set_on_the_command_line_that_conflicts(tmp_path):
    error = refused(tmp_path, ONE_FACTOR, ("client.inflight=3",))
    assert error.message.startswith("--set client.inflight=3: ")
    assert "the factor inflight" in error.message


@pytest.mark.parametrize("name", ["", "nothing.toml", "."])
def test_a_missing_scenario(tmp_path, name):
    error = refused(tmp_path, ONE_FACTOR, head=f'scenario = "{name}"\n')
    assert error.message.startswith(str(tmp_path))


def test_points_that_this_host_cannot_run_are_kept_and_named(tmp_path):
    text = '[[factor]]\nkey = "server.cores"\nvalues = [[0], [1], [5]]\n'
    made = designed(tmp_path, text)
    reason = "server: CPU 5 does not exist, or is not allowed"
    assert [point.cannot_run for point in made.points] == [None, None, reason]
    assert [point.number for point in made.running] == [1, 2]


def test_a_study_without_a_point_for_this_host_is_refused(tmp_path):
    error = refused(tmp_path, '[[factor]]\nkey = "server.cores"\nvalues = [[4], [5]]\n')
    assert "no point can run here; cores [4]: server: CPU 4 does not exist" in error.message


def test_point_names_are_valid_file_names(tmp_path):
    text = f'[[factor]]\nkey = "title"\nvalues = ["../../x", "a b", "é", "{"long" * 40}"]\n'
    made = designed(tmp_path, text)
    names = [point.name for point in made.points]
    assert names[0] == "1-title-..-..-x" and len(set(names)) == 4
    assert all(re.fullmatch(r"[A-Za-z0-9._-]{1,80}", name) for name in names)


@examples(30)
@given(st.text(max_size=60))
def test_any_text_is_a_study_or_a_refusal(tmp_path_factory, text):
    file = tmp_path_factory.mktemp("any") / "far.toml"
    file.write_bytes((HEAD + text).encode(errors="surrogatepass"))
    with pytest.raises(UserError, match="far.toml"):
        definition.read(file)


def test_a_study_is_no_scenario_and_a_scenario_no_study(tmp_path):
    study, scenario = written(tmp_path), tmp_path / "echo.toml"
    with pytest.raises(UserError, match="a study, not a scenario") as refusal:
        load(study)
    assert refusal.value.remedy == f"windtunnel study {study}"
    with pytest.raises(UserError, match="a scenario, not a study") as refusal:
        definition.read(scenario)
    assert refusal.value.remedy == f"windtunnel run {scenario}"


FULL = """[set]
duration = "1s"
client.batch.app_tx = 16
[full]
repeats = 5
constraints = ["inflight < 512"]
[full.set]
duration = "2s"
[[full.factor]]
key = "client.inflight"
values = [32, 256, 512]
[[full.factor]]
name = "batch"
key = "client.batch.app_tx"
values = [8, 24]
"""


def test_the_full_size_overrides_what_it_names(tmp_path):
    quick = definition.read(written(tmp_path, ONE_FACTOR + FULL))
    full = quick.in_full()
    assert (quick.repeats, full.repeats, full.retries) == (3, 5, quick.retries)
    assert (quick.is_full, full.is_full) == (False, True)
    assert full.title == f"{quick.title}, full size" and full.question == quick.question
    made = design(full, [], machine())
    pairs = [(inflight, batch) for inflight in (32, 256) for batch in (8, 24)]
    assert [made.describe_point(point) for point in made.points] == [f"inflight {a}, batch {b}" for a, b in pairs]
    assert {point.scenario.duration for point in made.points} == {2 * 10**9}
    small = design(quick, [], machine())
    assert {point.scenario.client.batch.app_tx for point in small.points} == {16}
    assert len(small.points) == 3


@pytest.mark.parametrize(
    ("before", "after", "line", "words"),
    [
        ("values = [32, 256, 512]", "values = [32, 0]", 16, "inflight: client.inflight is 0"),
        ("values = [8, 24]", 'values = ["many"]', 20, 'batch: client.batch.app_tx is "many"'),
        ('duration = "2s"', 'duration = "soon"', 13, '"soon" is not a duration'),
        ('duration = "2s"', "client.inflight = 3", 13, "[set] and the factor inflight both change client.inflight"),
        ("inflight < 512", "inflight <", 11, "syntax error"),
        ("repeats = 5", "repeats = 0", 10, "full.repeats is 0"),
        ("repeats = 5", "title = 5", 10, 'unknown key "title" in [full]'),
    ],
)
def test_errors_in_the_full_size_are_reported_with_their_line(tmp_path, before, after, line, words):
    text = (ONE_FACTOR + FULL).replace(before, after)
    with pytest.raises(UserError) as refusal:
        design(definition.read(written(tmp_path, text)).in_full(), [], machine())
    assert words in refusal.value.message
    assert refusal.value.message.startswith(f"{tmp_path / 'far.toml'}:{line}: "), refusal.value.message


def test_a_study_without_a_full_size_is_refused(tmp_path):
    with pytest.raises(UserError, match="the study has no full size") as refusal:
        definition.read(written(tmp_path, ONE_FACTOR)).in_full()
    assert "[full]" in refusal.value.remedy
