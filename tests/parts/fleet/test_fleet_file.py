"""The fleet file, and what --on takes."""

import pytest

from windtunnel.errors import UserError
from windtunnel.parts.fleet.fleet_file import fleet_of_option, is_address, read

WHOLE = """\
# The lab
address = "ray://lab:10001"
spread  = true
wait    = "2h"
silence = "10s"

[[testbed]]
name = "alpha"

[[testbed]]
name = "beta"
"""


def test_a_whole_file(tmp_path):
    file = tmp_path / "fleet.toml"
    file.write_text(WHOLE)
    found = fleet_of_option(str(file))
    assert (found.address, found.spread, found.names) == ("ray://lab:10001", True, ["alpha", "beta"])
    assert (found.wait, found.silence) == (7_200_000_000_000, 10_000_000_000)


def test_an_address_stands_for_a_file_with_nothing_else():
    found = fleet_of_option("127.0.0.1:6379")
    assert (found.address, found.spread, found.names) == ("127.0.0.1:6379", False, [])
    assert (found.wait, found.silence) == (60_000_000_000, 30_000_000_000)


@pytest.mark.parametrize("text", ["auto", "ray://lab:10001", "10.0.0.1:6379", "ray://[::1]:10001"])
def test_addresses(text):
    assert is_address(text)


@pytest.mark.parametrize(
    "text", ["", "lab", "lab:0", "lab:65536", "ray://lab", "http://lab:80", "a b:1", "lab:1\n", "-x:1/../y:2"]
)
def test_no_addresses(text):
    assert not is_address(text)


@pytest.mark.parametrize("on", ["http://lab:8265", "ray://lab", "ray://lab:99999"])
def test_what_looks_like_an_address_is_no_file(on):
    with pytest.raises(UserError, match="is not an address of a Ray cluster") as refused:
        fleet_of_option(on)
    assert '"ray://HOST:PORT"' in refused.value.remedy


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(UserError, match=r"fleet\.toml: no such file") as refused:
        fleet_of_option(str(tmp_path / "fleet.toml"))
    assert "--on takes a fleet file, or an address" in refused.value.remedy


CABLED = """\
address = "ray://lab:10001"

[[cable]]
server = "alpha"
client = "beta"

[[cable]]
server = "gamma"
client = "delta"
"""


def test_cables(tmp_path):
    (tmp_path / "fleet.toml").write_text(CABLED)
    found = read(tmp_path / "fleet.toml")
    assert [cable.name for cable in found.cable] == ["alpha+beta", "gamma+delta"]
    assert found.names == ["alpha", "beta", "gamma", "delta"]


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        (WHOLE.replace('"ray://lab:10001"', '"lab"'), 2, '"lab" is not an address of a Ray cluster'),
        (WHOLE.replace("address =", "adress ="), 2, 'unknown key "adress" in the fleet file'),
        (WHOLE.replace("spread  = true", "spread  = 1"), 3, "spread is 1"),
        (WHOLE.replace('"2h"', "2h"), 4, "wait: 2h has no quotes"),
        (WHOLE.replace('"10s"', '"10"'), 5, "silence"),
        (WHOLE.replace('"10s"', '"10ms"'), 5, "silence"),
        (WHOLE.replace('name = "beta"', 'name = "alpha"'), 11, 'testbed "alpha" is there twice'),
        (WHOLE.replace('name = "beta"', 'name = "../beta"'), 11, '"../beta" is not a name'),
        (WHOLE.replace('name = "beta"', 'host = "beta"'), 11, 'unknown key "host"'),
        (WHOLE[: WHOLE.index("[[")] + '[testbed]\nname = "a"\n', 7, "testbed"),
        (CABLED.replace('client = "delta"', 'client = "gamma"'), 9, 'testbed "gamma" is there twice'),
        (CABLED.replace('server = "gamma"', 'server = "beta"'), 8, 'testbed "beta" is there twice'),
        (CABLED.replace('client = "delta"', ""), 7, "client is missing"),
        (CABLED.replace('client = "delta"', 'client = "a+b"'), 9, '"a+b" is not a name'),
        (CABLED.replace(':10001"', ':10001"\n[[testbed]]\nname = "x"'), 3, "exclude each other"),
    ],
)
def test_errors_name_file_and_line(tmp_path, text, line, words):
    file = tmp_path / "fleet.toml"
    file.write_text(text)
    with pytest.raises(UserError) as refused:
        read(file)
    assert words in refused.value.message and refused.value.message.startswith(f"{file}:{line}: ")
    assert refused.value.remedy


def test_an_empty_file_lacks_an_address(tmp_path):
    (tmp_path / "fleet.toml").write_text("")
    with pytest.raises(UserError, match="address is missing"):
        read(tmp_path / "fleet.toml")
