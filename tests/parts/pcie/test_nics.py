"""NICs as TOML: what is missing or wrong in one is refused with file and line."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windtunnel.errors import UserError
from windtunnel.parts.pcie.nic import for_driver, load_nic, read_nic, shipped, text_of

GENERIC = text_of("generic")


def line_of(text: str, start: str) -> int:
    return next(number for number, line in enumerate(text.splitlines(), 1) if line.startswith(start))


def refused(tmp_path, text: str) -> str:
    file = tmp_path / "mine.toml"
    file.write_text(text)
    with pytest.raises(UserError) as error:
        load_nic(str(file))
    assert error.value.remedy
    return error.value.message.replace(f"{file}", "mine.toml")


def test_a_file_of_ones_own(tmp_path):
    (tmp_path / "mine.toml").write_text(GENERIC.replace('name = "generic"', 'name = "mine"'))
    mine = load_nic(str(tmp_path / "mine.toml"))
    assert mine.name == "mine" and mine.tx.descriptor.number == 16


@pytest.mark.parametrize("key", ["write_back ", "doorbell ", "fetched_together", "compressed_write_back"])
def test_a_missing_field_is_named_with_the_line_of_its_table(tmp_path, key):
    lines = GENERIC.splitlines()
    del lines[line_of(GENERIC, key) - 1]
    text = "\n".join(lines)
    assert refused(tmp_path, text) == f"mine.toml:{line_of(text, '[rx]')}: rx.{key.strip()} is missing"


@pytest.mark.parametrize("table", ["link", "rx", "tx", "nic"])
def test_a_missing_table(tmp_path, table):
    parts = GENERIC.split("\n[")
    text = "\n[".join(part for part in parts if not part.removeprefix("[").startswith(f"{table}]"))
    text = text if table != "nic" else GENERIC[GENERIC.index("[link]") :]
    assert f"{table} is missing" in refused(tmp_path, text)


WRONG = [
    ("{ value = 32, source = \"VTune recipe, table: Rx Descriptor Size, B\" }", "32", "rx.descriptor is 32"),
    ("{ value = 32, source = \"VTune recipe, table: Rx Descriptor Size, B\" }", "{ value = 32 }", "needs value and source"),
    ("{ value = 32, source = \"VTune recipe, table: Rx Descriptor Size, B\" }", "{ assumed = 32 }", "needs value and source"),
    ("value = 32, source = \"VTune recipe, table: Rx Descriptor", "value = -1, source = \"VTune recipe, table: Rx Descriptor", "rx.descriptor.value is -1"),
    ("value = 32, source = \"VTune recipe, table: Rx Descriptor", "value = 0, source = \"VTune recipe, table: Rx Descriptor", "must be at least 1"),
    ("value = 32, source = \"VTune recipe, table: Rx Descriptor", "value = 32.5, source = \"VTune recipe, table: Rx Descriptor", "rx.descriptor.value is 32.5"),
    ("descriptor            =", "desciptor             =", "rx.descriptor is missing"),
    ("value = 32, source = \"VTune recipe, table: Rx Descriptor", f"value = 1{400 * '0'}, source = \"VTune recipe, table: Rx Descriptor", "rx.descriptor.value is 1000"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "words"), WRONG)
def test_wrong_numbers(tmp_path, old, new, words):
    assert old in GENERIC
    said = refused(tmp_path, GENERIC.replace(old, new, 1))
    assert words in said and said.startswith("mine.toml:")
    if "missing" not in words:
        assert f":{line_of(GENERIC, 'descriptor ')}:" in said


def test_numbers_that_do_not_go_together(tmp_path):
    key = "compressed_write_back = { assumed = "
    said = refused(tmp_path, GENERIC.replace(f"{key}32", f"{key}64"))
    line = line_of(GENERIC, "[rx]")
    assert said.startswith(f"mine.toml:{line}: rx has a compressed_write_back of 64 bytes, more than the 32")


@pytest.mark.parametrize(("key", "number"), [("generation", 9), ("lanes", 3)])
def test_a_link_that_is_none(tmp_path, key, number):
    start = next(line for line in GENERIC.splitlines() if line.startswith(key))
    said = refused(tmp_path, GENERIC.replace(start, f'{key} = {{ value = {number}, source = "nobody" }}'))
    assert said.startswith(f"mine.toml:{line_of(GENERIC, key)}: link.{key} is {number}, and must be one of 1, 2, ")


def test_an_unknown_key(tmp_path):
    said = refused(tmp_path, GENERIC + 'colour = { assumed = 1, why = "none" }\n')
    assert said == f'mine.toml:{len(GENERIC.splitlines()) + 1}: unknown key "tx.colour"'


def test_no_toml_no_file_no_name(tmp_path):
    assert refused(tmp_path, "[nic\n").startswith("mine.toml:1:")
    for name, words in ((str(tmp_path / "none.toml"), "no such file"), ("ixgbee", 'no NIC "ixgbee"')):
        with pytest.raises(UserError, match=words):
            load_nic(name)


def test_drivers_have_their_nic():
    names = {"net_ixgbe": "ixgbe", "mlx5_pci": "mlx5", "net_null": "generic", "net_virtio": "virtio"}
    names |= {"net_ena": "ena", "net_bnxt": "bnxt", "net_e1000_igb": "igb"}
    assert {driver: for_driver(driver) for driver in names} == names
    drivers = [driver for name in shipped() for driver in load_nic(name).nic.drivers]
    assert len(drivers) == len(set(drivers))


@given(st.text(max_size=200) | st.builds(lambda cut: GENERIC[:cut], st.integers(0, len(GENERIC))))
def test_any_text_is_a_nic_or_refused_in_words(text):
    try:
        assert read_nic(Path("mine.toml"), text).entries()
    except UserError as error:
        assert error.message.startswith("mine.toml:") and error.remedy
