"""The form from the schema: every key has a field with its help, and shows what the text says."""

import tomllib

import pytest

from windtunnel.parts.ui.edit.form import MOST_TABLES, TableFields, form_of, kind_at
from windtunnel.scenario.reference import keys_of, table_at

DATA = {
    "title": "echo",
    "wire": {"kind": "ring"},
    "client": {"inflight": 64, "rate": "2M"},
    "server": {"batch": {"app_rx": 16}, "cores": [1, 2]},
    "workload": [{"handler": "m_app", "options": {"state": "4MiB"}}],
}


def every_table(table: TableFields) -> list[TableFields]:
    return [table, *(found for inner in table.tables for found in every_table(inner))]


def fields(data) -> dict:
    return {key.path: key for table in every_table(form_of(data)) for key in table.keys}


def test_what_the_text_says_is_shown():
    found = fields(DATA)
    assert found["title"].text == "echo"
    assert found["client.inflight"].text == "64"
    assert found["server.batch.app_rx"].text == "16"
    assert found["server.cores"].text == "[1, 2]"
    assert found["workload.0.options"].text == '{ state = "4MiB" }'
    assert found["duration"].text == ""
    assert found["duration"].default == "5s"


@pytest.mark.parametrize("path", [(), ("client",), ("server",), ("wire", "link"), ("workload",), ("server", "batch")])
def test_every_key_has_a_field_or_a_table_with_its_help(path):
    place = "workload.0" if path == ("workload",) else ".".join(path)
    table = next(table for table in every_table(form_of(DATA)) if table.path == place and not table.is_list)
    shown = {key.name: key.help for key in table.keys} | {inner.name: inner.help for inner in table.tables}
    wanted = {key.name: key.help for key in keys_of(table_at(path)).values()}
    assert shown.items() <= wanted.items()
    assert shown.keys() == wanted.keys() or path in (("client",), ("server",))  # options of other wires


def test_options_of_other_wires_are_not_offered():
    assert "client.pci" not in fields(DATA)
    assert "client.pci" in fields(DATA | {"wire": {"kind": "pci"}})
    assert "client.pci" in fields(DATA | {"client": {"pci": "0000:00:01.0"}})  # what is there is shown


def test_a_choice_that_is_wrong_is_shown_as_it_is():
    wrong = fields({"wire": {"kind": "rnig"}})["wire.kind"]
    assert wrong.kind == "choice"
    assert wrong.text == "rnig"
    assert "rnig" in wrong.choices


def test_a_table_of_many_keys_is_a_text_as_any_other():
    """In a time for each key that does not grow with their number: else this does not end."""
    options = {f"key{n}": n for n in range(30_000)}
    shown = fields(DATA | {"workload": [{"handler": "m_app", "options": options}]})["workload.0.options"].text
    assert tomllib.loads(f"options = {shown}")["options"] == options


def test_a_long_list_has_an_end():
    form = form_of({"workload": [{"handler": "l_app"}] * (MOST_TABLES + 3)})
    (workload,) = (table for table in form.tables if table.path == "workload")
    assert len(workload.tables) == MOST_TABLES
    assert workload.more == 3


@pytest.mark.parametrize("data", [{"wire": 3}, {"client": []}, {"workload": {}}, {"workload": [3]}, {"server": "x"}])
def test_a_text_that_says_something_else_has_a_form_too(data):
    assert form_of(data).keys


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("title", "text"),
        ("wire.kind", "choice"),
        ("wire.udp_checksum", "bool"),
        ("workload.0.handler", "text"),
        ("server.batch.app_rx", "value"),
        ("client.rate", "value"),
        ("no.such.key", "value"),
    ],
)
def test_the_kind_of_a_field(path, kind):
    assert kind_at(path) == kind
