"""The space: what may change, what can run here, and how a point is said."""

import pytest
from fake_runs import FAKE
from hypothesis import given
from hypothesis import strategies as some
from properties import examples
from scenario_tools import engine, machine
from tuning_tools import SCENARIO, SPACE, settings_of

from windtunnel.errors import UserError
from windtunnel.parts.tune import space as spaces
from windtunnel.parts.tune.first import common_sense
from windtunnel.parts.tune.space import SpaceFile, default, from_file
from windtunnel.runs.identity import flat
from windtunnel.scenario import load, resolve


@pytest.fixture(autouse=True)
def fake():
    with engine(str(FAKE)):
        yield


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "echo.toml"
    path.write_text(SCENARIO)
    return path


def spaced(file, text, *sets, cpus=2):
    path = file.with_name("space.toml")
    path.write_text(text)
    return from_file(file, path, sets, machine(cpus))


def refusal(file, text, *sets):
    with pytest.raises(UserError) as refused:
        spaced(file, text, *sets)
    return refused.value.message


def test_a_point_says_what_differs_from_the_file_and_nothing_else(file):
    space = spaced(file, SPACE)
    start, exact = space.file_point()
    assert exact and space.describe_point(start) == "inflight 256, batch 32, ring 1024" and space.sets(start) == ()
    assert space.size == 6 * 5 * 4
    assert space.sets((0, 4, 2)) == ("client.inflight=32", "client.batch.nic_rx=64", "server.batch.nic_rx=64")


@pytest.mark.parametrize(
    ("key", "values", "start", "sets"),
    [
        ("workload.0.request", '["64B", "86B", "1KiB"]', ((1,), True), {(1,): ()}),  # units make no difference
        ("workload.0.colocate", "[true, false]", ((0,), True), {(0,): (), (1,): ("workload.0.colocate=false",)}),
        ("client.inflight", "[100, 300, 900]", ((1,), False), {}),  # no point: the nearest
        ("workload.0.colocate", "[1, false]", ((0,), False), {}),  # true is not 1
    ],
)
def test_the_files_own_point_has_its_values_or_the_nearest(file, key, values, start, sets):
    space = spaced(file, f'[[factor]]\nkey = "{key}"\nvalues = {values}\n')
    assert space.file_point() == start and {point: space.sets(point) for point in sets} == sets
    assert ("colocate" in (space.refused((0,)) or "")) == values.startswith("[1,")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('[[factor]]\nkey = "client.inflight"\nvalues = [1]\nlabels = [1, 2]\n', "2 labels for 1 values"),
        ('[[factor]]\nkey = "client inflight"\nvalues = [1]\n', "not a key of a scenario"),
        ('constraints = ["inflight > 5000"]\n' + SPACE, 'no point meets "inflight > 5000"'),
        ('constraints = ["deep > 1"]\n' + SPACE, "deep"),
        ("repeats = 3\n", "factor is missing"),
        (SPACE + "nonsense = 1\n", 'unknown key "nonsense"'),
        ("[set]\nclient.inflight = 3\n" + SPACE.replace("[[factor]]", "[[factor]]", 1), "both change client.inflight"),
    ],
)
def test_what_is_wrong_with_a_space_file_is_said_with_its_place(file, text, words):
    message = refusal(file, text)
    assert words in message and "space.toml" in message


def test_what_this_host_or_the_command_line_leaves_no_room_for_is_refused_with_the_reason(file):
    message = refusal(file, '[[factor]]\nkey = "server.cores"\nvalues = [[7], [8], [7, 8]]\n')
    assert "no point can run here" in message and "CPU" in message and "does not exist" in message
    assert "both change client.inflight" in refusal(file, SPACE, "client.inflight=3")


def test_a_scenario_is_no_space(file):
    with pytest.raises(UserError, match="a scenario, not a study"):
        from_file(file, file, (), machine())


def test_a_large_space_is_looked_at_here_and_there(file, monkeypatch):
    monkeypatch.setattr(spaces, "DRAWN", 5)
    keys = "client.inflight", "client.batch.nic_rx", "client.batch.app_rx"
    many = "".join(f'[[factor]]\nkey = "{key}"\nname = "f{n}"\nvalues = [1, 2, 4]\n' for n, key in enumerate(keys))
    assert "does not exist" in refusal(file, many + "[set]\nserver.cores = [9]\n")


def test_constraints_leave_points_out(file):
    space = spaced(file, 'constraints = ["inflight >= 4 * batch"]\n' + SPACE)
    inside, outside = (2, 3, 0), (0, 4, 0)
    assert space.refused(inside) is None and space.refused(outside) == "the constraints exclude it"
    assert 0 < space.size < 6 * 5 * 4


def test_a_study_file_is_a_space(file):
    space = spaced(file, 'title = "t"\nscenario = "other.toml"\nrepeats = 3\nmetrics = ["p99"]\n' + SPACE)
    assert space.file == file and space.size == 120


def test_the_default_space_has_what_check_accepts_here(file):
    space = default(file, (), machine())
    names = [factor.name for factor in space.factors]
    assert {"batch_nic_rx", "inflight", "pool_cache", "pool_ops", "ring_size", "colocate", "apps"} <= set(names)
    assert "mtu" not in names, "no message is larger than a packet"
    start, exact = space.file_point()
    assert exact and space.sets(start) == () and space.refused(start) is None
    for point in space.neighbours(start):
        assert space.refused(point) is None or space.describe_point(point)
    single = [
        (*start[:n], i, *start[n + 1 :]) for n, f in enumerate(space.factors) for i in range(len(f.levels.members))
    ]
    assert all(space.refused(point) is None for point in single)


def test_neighbours_differ_by_one_level_or_by_any_where_there_is_no_order(file):
    ops = '[[factor]]\nkey = "client.mempool.ops"\nvalues = ["ring_mp_mc", "stack", "lf_stack"]\n'
    space = spaced(file, ops + '[[factor]]\nkey = "client.inflight"\nvalues = [64, 128, 256]\n')
    assert set(space.neighbours((0, 0))) == {(1, 0), (2, 0), (0, 1)}
    assert set(space.neighbours((1, 1))) == {(0, 1), (2, 1), (1, 0), (1, 2)}


@pytest.mark.parametrize(
    ("more", "sets", "there", "absent"),
    [
        ('request = "4KiB"\n', (), {"mtu"}, set()),  # messages are larger than a packet
        ('[[workload]]\nname = "second"\nhandler = "l_app"\n', (), {"apps_0", "apps_1", "colocate_1"}, {"apps"}),
        ("", ("client.inflight=64", "duration=40ms"), set(), {"inflight", "mtu"}),  # what the command line says stays
        ("", ("workload.0.groups=[1]",), {"colocate"}, {"apps", "dispatchers"}),  # they have the numbers of the groups
    ],
)
def test_the_default_factors_follow_from_the_file_and_the_command_line(file, more, sets, there, absent):
    file.write_text(SCENARIO + more)
    space = default(file, sets, machine())
    names = {factor.name for factor in space.factors}
    assert there <= names and not absent & names and space.common == sets


def test_more_cpus_make_the_servers_cores_a_factor(file):
    space = default(file, (), machine(8))
    cores = next(factor for factor in space.factors if factor.name == "server_cores")
    assert [len(level.values[0]) for level in cores.levels.members] == [1, 2, 3, 4, 5, 6, 7]
    start, _ = space.file_point()
    assert space.workers(start) == 1
    split = space.at(start, {"workload.0.colocate": False, "server.cores": [7, 6]})
    assert split is not None and space.workers(split) == 2


def test_changes_lead_to_a_point_or_to_none(file):
    space = spaced(file, SPACE)
    start, _ = space.file_point()
    assert start == (3, 3, 2)
    assert space.at(start, {"client.inflight": 64}) == (1, 3, 2)
    assert space.at(start, {"client.inflight": 64, "client.mempool.cache": 512}) == (1, 3, 2), "the cache is no factor"
    assert space.at(start, {"client.mempool.cache": 512}) is None
    assert space.at(start, {"client.inflight": 256}) is None, "the file has it"
    assert space.at(start, {"client.batch.nic_rx": 64}) == (3, 4, 2), "the server's changes with it"


def test_a_change_leads_to_the_nearest_level_on_its_side(file):
    space = spaced(file, SPACE)
    start, _ = space.file_point()
    to = [100, 130, 250, 257, 600, 10**6, 1]
    points = [space.at(start, {"client.inflight": value}) for value in to]
    assert [point and point[0] for point in points] == [2, 2, 2, 4, 4, 5, 0]
    last = (5, 3, 2)
    assert space.at(last, {"client.inflight": 4096}) is None, "nothing is larger"
    assert space.at(last, {"client.inflight": 4096, "client.ring_size": 2048}) == (5, 3, 3), "the ring is"


def test_a_change_that_is_no_number_needs_the_very_level(file):
    space = spaced(
        file,
        '[[factor]]\nkey = "client.mempool.ops"\nvalues = ["ring_mp_mc", "stack"]\n'
        '[[factor]]\nkey = "workload.0.colocate"\nvalues = [true, false]\n',
    )
    assert space.at((0, 0), {"client.mempool.ops": "stack"}) == (1, 0)
    assert space.at((0, 0), {"client.mempool.ops": "lf_stack", "workload.0.colocate": False}) is None
    assert space.at((0, 1), {"workload.0.colocate": True}) == (0, 0)
    assert space.at((0, 1), {"workload.0.colocate": 1}) is None, "true is not 1"


@pytest.mark.parametrize("own", [1, 2, 32, 100, 256])
def test_the_default_space_has_what_is_usual_and_what_is_around_the_file(file, own):
    file.write_text(SCENARIO + f"[server]\nbatch.nic_rx = {own}\n")
    factor = next(factor for factor in default(file, (), machine()).factors if factor.name == "batch_nic_rx")
    pairs = [level.values for level in factor.levels.members]
    assert (32, own) in pairs and {(4, 4), (32, 32), (256, 256)} <= set(pairs), "client and server"
    assert ((8, own // 4) in pairs) == (own >= 4) and pairs == sorted(pairs)


def test_factors_of_one_kind_that_change_alike_are_said_once(file):
    space = default(file, (), machine())
    start, _ = space.file_point()
    of = {factor.name: n for n, factor in enumerate(space.factors)}
    more = space.at(start, {f"client.batch.{stage}": 128 for stage in spaces.STAGES})
    assert space.changes(more) == "batch_* 128"
    one_less = tuple(start[n] if n == of["batch_nic_rx"] else i for n, i in enumerate(more))
    assert space.changes(one_less).count("batch_") == 5 and "*" not in space.changes(one_less)
    assert space.changes(space.at(more, {"client.inflight": 64})) == "batch_* 128, inflight 64"
    assert space.changes(start) == "the file"


def test_first_moves_are_legal_where_they_are_in_the_space(file):
    space = default(file, (), machine())
    moves = common_sense(load(file))
    start, _ = space.file_point()
    points = [space.at(start, move.changes) for move in moves]
    assert all(move.why and move.changes for move in moves)
    assert sum(point is not None and space.refused(point) is None for point in points) >= 6
    assert points[0] is not None and space.describe_point(points[0]).startswith("batch_app_tx 128, batch_disp_tx 128")


def test_no_first_move_changes_the_numbers_of_groups(file):
    def changed(*sets):
        return {key for move in common_sense(load(file, list(sets))) for key in move.changes}

    assert changed() - changed("workload.0.groups=[1]") == {"workload.0.apps", "workload.0.dispatchers"}


FACTOR = some.builds(
    lambda key, values: f'[[factor]]\nkey = "{key}"\nvalues = {sorted(values)}\n',
    some.sampled_from(["client.inflight", "server.ring_size", "client.batch.app_tx", "server.mempool.cache"]),
    some.sets(some.integers(0, 12).map(lambda n: 1 << n), min_size=1, max_size=5),
)


@examples(25)
@given(some.lists(FACTOR, min_size=1, max_size=3), some.randoms(use_true_random=False))
def test_every_point_that_is_not_refused_runs_and_says_its_settings(tmp_path_factory, texts, dice):
    """Whatever the space: it is refused in words, or each of its points that is legal is loaded as its words say."""
    file = tmp_path_factory.mktemp("space") / "echo.toml"
    file.write_text(SCENARIO)
    path = file.with_name("space.toml")
    path.write_text("".join(texts))
    with engine(str(FAKE)):
        try:
            space = from_file(file, path, (), machine())
        except UserError as refused:
            assert refused.message
            return
        own = flat(resolve(load(file), machine()).resolved)
        for point in space.drawn(dice, 4):
            if space.refused(point) is not None:
                continue
            assert space.at(point, {}) is None
            found = flat(space.spec(point).resolved)
            said = settings_of(space.sets(point))
            assert {key: str(found[key]) for key in said} == said
            for factor, i in zip(space.factors, point, strict=True):
                assert [found[key] for key in factor.keys] == list(factor.levels.members[i].values)
            changed = {k for k in found if found[k] != own.get(k) and not k.endswith((".mempool.size", "wire.socket"))}
            assert changed == set(said)


def test_the_grammar_is_a_studys():
    assert set(SpaceFile.model_fields) == set(spaces.Definition.model_fields)
