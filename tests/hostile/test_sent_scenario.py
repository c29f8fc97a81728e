"""Whatever stands in a file or behind --set, the answer is a run or a UserError, and a run's plans hold together."""

from collections import Counter
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scenario_tools import SHIPPED, engine, loaded, machine, text

from windtunnel.engine.plan import Plan
from windtunnel.errors import UserError
from windtunnel.scenario import resolve
from windtunnel.scenario.keys import Scenario
from windtunnel.scenario.reference import keys_of
from windtunnel.scenario.table import Table


@pytest.fixture(autouse=True, scope="module")
def no_engine():
    """Handlers are not what these tests are about: any name passes where no engine knows better."""
    with engine("/nonexistent"):
        yield


relaxed = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)


def paths(table: type[Table], prefix: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """Every key of the scenario, tables included."""
    found = []
    for key in keys_of(table).values():
        here = (*prefix, key.name)
        found += [here, *(paths(key.table, (*here, "0") if key.many else here) if key.table else [])]
    return found


scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), max_size=20),
    st.sampled_from(
        ["auto", "5s", "1Mpps", "64KiB", "ring", "null", "memif", "resolve", "nic_rx:0", "10.0.0.1", "l_app"]
    ),
)
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["name", "core", "x y"]), inner, max_size=3)
    ),
)


def changed(data: Any, path: tuple[str, ...], value: Any) -> None:
    for part in path[:-1]:
        data = data[0] if part == "0" else data.setdefault(part, [{}] if part in ("worker", "workload") else {})
    data[path[-1]] = value


@given(st.lists(st.tuples(st.sampled_from(paths(Scenario)), values), min_size=1, max_size=4), st.integers(1, 6))
@relaxed
def test_any_values_end_in_a_run_or_a_refusal(tmp_path, changes, cpus):
    data = {"workload": [{"handler": "l_app"}]}
    for path, value in changes:
        try:
            changed(data, path, value)
        except (TypeError, KeyError, IndexError, AttributeError):
            continue  # an earlier change took the table away
    _runs_or_says_why(tmp_path, text(data), [], cpus)


@given(st.text(max_size=200))
@relaxed
def test_any_text_ends_in_a_refusal(tmp_path, content):
    with pytest.raises(UserError):
        loaded(tmp_path, content.encode("utf-8", "replace").decode())


@given(st.data())
@relaxed
def test_damaged_files_end_in_a_run_or_a_refusal(tmp_path, data):
    content = data.draw(st.sampled_from(sorted(SHIPPED.glob("*.toml")))).read_text()
    start = data.draw(st.integers(0, len(content)))
    end = data.draw(st.integers(start, min(len(content), start + 40)))
    damage = data.draw(st.text("[]{}=\"'#.,\n 0aé\\", max_size=6))
    _runs_or_says_why(tmp_path, content[:start] + damage + content[end:], [], 2)


@given(st.text(max_size=30), st.text(max_size=30))
@relaxed
def test_any_set_ends_in_a_run_or_a_refusal(tmp_path, key, value):
    _runs_or_says_why(tmp_path, '[[workload]]\nhandler = "l_app"\n', [f"{key}={value}"], 2)


@pytest.mark.parametrize(
    "content",
    [
        "a." * 10_000 + "b = 1",
        "\n".join(f"k{n}." + "a." * 190 + "b = 1" for n in range(100)),
        "title." + "a." * 10_000 + "b = 1",
        "x = " + "[" * 200 + "]" * 200,
        "x = " + "{a=" * 200 + "1" + "}" * 200,
        "seed = " + "9" * 5000,
        "[[workload]]\n" * 5000,
        "[workload]\nhandler = 1",
        "workload = 1",
        "wire = 1979-05-27",
        '[[workload]]\nhandler = "a"\noptions = { a = 1979-05-27T00:00:00Z }',
        '[[workload]]\nhandler = "a"\noptions = { "a.b" = [1] }',
        '[wire]\nkind = ["ring"]',
        "[wire]\nkind = { a = 1 }",
        "\ufeff[wire]",
    ],
    ids=lambda content: content[:20],
)
def test_known_hostile_files_end_in_a_refusal(tmp_path, content):
    with pytest.raises(UserError):
        loaded(tmp_path, content)


def _runs_or_says_why(directory, content, sets, cpus):
    try:
        spec = resolve(loaded(directory, content, *sets), machine(cpus))
    except UserError as error:
        assert error.message
        return
    assert all(demand.total <= demand.size for demand in spec.demands.values())
    for plan in spec.plans:
        assert Plan.model_validate_json(plan.model_dump_json()) == plan
        stood = Counter((s.endpoint, s.stage, s.index) for worker in plan.workers for s in worker.stages)
        assert set(stood.values()) == {1}
        for number, endpoint in enumerate(plan.endpoints):
            for index, application in enumerate(endpoint.applications):
                assert stood[number, "app_rx", index] == 1
                assert all(stood[number, "disp_rx", dispatcher] == 1 for dispatcher in application.dispatchers)
