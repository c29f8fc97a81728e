"""The lists of cores and queues of a configuration as a space file, which the study's own loader takes."""

import tomllib

import pytest
from importing import imported, refusal

from windtunnel.measure.study.constraints import MAX_PRODUCT
from windtunnel.measure.study.definition import Factor
from windtunnel.scenario import load
from windtunnel.scenario.overrides import parse_overrides

HEAD = "kDispRxBatchSize : 48\nkNICRxPostSize : 32\nkAppTxMsgBatchSize : 32\niteration : 10\nduration : 1\n"
LINE = "workload : {} : RXNIC,RXDispatcher,RxApplication,TxDispatcher,TxNIC : {} : {} : {}\n"
DOCUMENT = LINE.format(1, "0,1,2,3", "0|1|2|3", "0|1|2|3") + LINE.format(2, "4,5,6,7", "4|5|6|7", "4|5|6|7")


def space(directory, text, *options):
    (directory / "config").write_text(HEAD + text)
    imported("axio", directory / "config", "--out", directory / "a.toml", "--space", directory / "s.toml", *options)
    return tomllib.loads((directory / "s.toml").read_text())


def test_the_lists_of_the_document_are_the_most_that_may_be_used(tmp_path):
    data = space(tmp_path, DOCUMENT)
    keys = {factor["name"]: (factor.get("key"), factor["values"]) for factor in data["factor"]}
    assert keys["apps_1"] == ("workload.0.apps", [1, 2, 3, 4]) and keys["dispatchers_2"][1] == [1, 2, 3, 4]
    assert data["constraints"] == ["apps_1 >= dispatchers_1", "apps_2 >= dispatchers_2"]
    assert data["factor"][-1] == {
        "name": "batch",
        "keys": ["server.batch.disp_rx", "server.batch.nic_rx"],
        "values": [8, 16, 32, 48, 64, 128],
    }


def test_each_factor_is_one_of_the_scenario(tmp_path):
    """The keys are changes that the imported scenario takes."""
    for factor in map(Factor.model_validate, space(tmp_path, DOCUMENT)["factor"]):
        for key in factor.keys or [factor.key]:
            load(tmp_path / "a.toml", [f"{key}={factor.values[0]}"])
            assert parse_overrides([f"{key}=1"])


def test_a_list_of_one_gives_no_factor(tmp_path):
    data = space(tmp_path, LINE.format(1, "0", "0,1", "0") + LINE.format(2, "2", "2", "2"))
    assert [factor["name"] for factor in data["factor"]] == ["apps_1", "batch"] and "constraints" not in data


@pytest.mark.parametrize(
    ("text", "options", "told"),
    [
        (LINE.format(1, "0", "0", "0"), (), "its lists give the tuner no choice"),
        (LINE.format(1, "0", "0,1,2|3", "0|3"), (), "groups of unlike numbers of applications"),
        (DOCUMENT, ("--cpus", "0-7"), "--space and --cpus exclude each other"),
        ("".join(LINE.format(n, 3 * n, "|".join(of), "|".join(of)) for n in range(5) for of in [[str(3 * n + i) for i in range(3)]]),
         (), f"at most {MAX_PRODUCT:,}"),
    ],
)  # fmt: skip
def test_what_gives_no_space_is_refused_before_a_file_is_written(tmp_path, text, options, told):
    assert told in refusal(tmp_path, "axio", HEAD + text, "--space", tmp_path / "s.toml", *options)
    assert not (tmp_path / "s.toml").exists()
