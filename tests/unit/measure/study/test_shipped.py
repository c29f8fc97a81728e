"""The shipped studies: each opens with its question, and is right on a small host and on a large one."""

import tomllib

import pytest
from scenario_tools import machine

from windtunnel.engine.find import find_engine
from windtunnel.measure.study import definition
from windtunnel.measure.study.columns import COUNTS, RUN, SIDE_COLUMNS, SIDES, STAGE_COLUMNS, WORKLOAD
from windtunnel.measure.study.definition import Definition, Factor, Full, Log, Range
from windtunnel.measure.study.design import design
from windtunnel.part_registry import part_modules
from windtunnel.scenario.reference import keys_of
from windtunnel.schemas.generate import CHECKOUT

pytestmark = pytest.mark.slow

CATALOGUE, PAGE = ((CHECKOUT / "docs" / "reference" / name).read_text() for name in ("studies.md", "study.md"))
FILES = sorted((CHECKOUT / "studies").glob("*.toml"))
SWEEPS = {
    "cores",
    "queues",
    "batch-l_app",
    "batch-t_app",
    "batch-m_app",
    "message-size",
    "inflight",
    "mempool-cache",
    "scaling",
}
TABLES = ("exact", "ternary", "lpm", "shared", "segments", "latency", "percentiles")
SWEEPS |= {f"tables-{name}" for name in TABLES}
SWEEPS |= {
    f"model-{name}" for name in ("exact", "exact-single", "lpm", "acl", "linear", "tss", "pipeline", "load", "load-one")
}
SWEEPS.update(name for part in part_modules("catalogue") for names in part.STUDIES.values() for name in names)
WITH_FULL = {*(f"tables-{name}" for name in TABLES), "model-exact", "model-exact-single"}
CASES = [(file, False) for file in FILES] + [(file, True) for file in FILES if file.stem in WITH_FULL]
CPUS = {"scaling": 32}
"""On which all points of a study run; 16, if it is not here."""
FEWEST = {"scaling": 3}
"""Points that run on two CPUs; 5, if it is not here."""
LACKS_CPUS = ("does not exist, or is not allowed", "need a CPU each")
LONGEST_S = 600
LONGEST_FULL_S = 2 * 3600


def test_all_shipped_studies_exist():
    assert {file.stem for file in FILES} == SWEEPS
    assert all(f"`studies/{file.name}`" in CATALOGUE for file in FILES)


def test_the_full_sizes_are_those_of_the_tables_and_of_two_models():
    assert [file for file in FILES if definition.read(file).full] == [file for file, full in CASES if full]


@pytest.mark.parametrize(("file", "full"), CASES, ids=[f"{file.stem}{'-full' * full}" for file, full in CASES])
def test_two_cores_run_some_points_in_time_and_many_all(file, full):
    assert find_engine()  # handlers and their options are checked against it
    shipped = definition.read(file).in_full() if full else definition.read(file)
    assert shipped.question.endswith("?") and shipped.question in file.read_text().split("\n", 1)[0]
    assert shipped.question in CATALOGUE
    small, large = (design(shipped, [], machine(cpus=cpus)) for cpus in (2, CPUS.get(file.stem, 16)))
    assert [point.sets for point in small.points] == [point.sets for point in large.points]
    assert len(small.running) >= FEWEST.get(file.stem, 5) and len(large.running) == len(large.points)
    for there, here in zip(large.points, small.points, strict=True):
        assert here.spec is not None or any(words in here.cannot_run for words in LACKS_CPUS)
        assert there.spec is not None
    assert shipped.repeats * sum(point.seconds for point in small.running) < (LONGEST_FULL_S if full else LONGEST_S)


def test_every_column_and_every_key_is_in_the_page():
    for table in (Definition, Full, Factor, Range, Log):
        for key in keys_of(table).values():
            assert f"`{key.name}`" in PAGE, key.name
            assert key.help in PAGE, key.help
    named = [*RUN, *WORKLOAD, *(f"{side}_{name}" for side in SIDES for name in SIDE_COLUMNS)]
    for name in [*named, *(f"client_app_tx_{name}" for name in STAGE_COLUMNS)]:
        assert f"`{name}`" in PAGE, name
    for _, words in (RUN | SIDE_COLUMNS | STAGE_COLUMNS).values():
        assert words in PAGE, words
    assert all(words in PAGE for words in COUNTS.values())


def test_the_example_of_the_page_is_a_study(tmp_path):
    text = PAGE.split("```toml\n", 1)[1].split("```", 1)[0]
    assert tomllib.loads(text)["scenario"]
    file = tmp_path / "example.toml"
    file.write_text(text.replace("../scenarios", str(CHECKOUT / "scenarios")))
    assert len(design(definition.read(file), [], machine(cpus=8)).points) >= 6
