"""The generator of the engine's readers: what it makes of a schema, and that it leaves nothing out in silence."""

import importlib.util
import json
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[3]


def loaded() -> Any:
    """The script, which is no module of the package."""
    spec = importlib.util.spec_from_file_location("plan_generator", ROOT / "engine" / "plan" / "generate.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # its dataclasses look themselves up there
    spec.loader.exec_module(module)
    return module


generator = loaded()


def made(**properties: dict) -> dict[str, str]:
    schema = {"title": "Plan", "type": "object", "additionalProperties": False, "properties": properties}
    return generator.files(
        schema | {"required": list(properties), "x-constants": {"MAX_BATCH": 1024, "MAX_NS": 10**15}}
    )


def whole(low: int, high: int, **more) -> dict:
    return {"type": "integer", "minimum": low, "maximum": high, **more}


def test_the_same_schema_gives_the_same_text():
    schema = json.loads((ROOT / "schemas" / "plan.json").read_text())
    assert generator.files(schema) == generator.files(schema)
    assert generator.files(schema).keys() == {"terms.h", "types.h", "readers.h", "readers.cc"}


def test_a_bound_reaches_its_reader():
    assert 'o["mtu"].whole<uint16_t>(68, 9000)' in made(mtu=whole(68, 9000))["readers.cc"]
    assert (
        'o["size"].power_of_two<uint32_t>(2, 1048576)'
        in made(size=whole(2, 1 << 20, **{"x-power-of-two": True}))["readers.cc"]
    )
    nullable = made(mtu={"anyOf": [whole(68, 9000), {"type": "null"}]})
    assert "std::optional<uint16_t> mtu;" in nullable["types.h"]


def test_words_that_are_not_cpp_names():
    terms = made(kind={"type": "string", "enum": ["auto", "no-huge", "24"]})["terms.h"]
    assert "enum class plan_kind : uint8_t { auto_, no_huge, n24 };" in terms
    assert '{"auto", "no-huge", "24"}' in terms


def test_values_by_some_of_the_words_of_an_enum():
    names = {"enum": ["one", "two"], "x-cpp": "number"}
    texts = made(sizes={"type": "object", "propertyNames": names, "additionalProperties": whole(1, 9)})
    assert "enum class number : uint8_t { one, two };" in texts["terms.h"]
    assert "std::map<enum number, uint16_t> sizes;" in texts["types.h"]
    read = 'o["sizes"].by_word<number>(number_names, [](const json_value &v) { return v.whole<uint16_t>(1, 9); })'
    assert read in texts["readers.cc"]


def test_constants_are_there_for_c_and_cpp():
    terms = made(mtu=whole(68, 9000))["terms.h"]
    assert "PLAN_MAX_BATCH = 1024," in terms and "constexpr uint32_t max_batch = 1024;" in terms
    assert "PLAN_MAX_NS" not in terms and "constexpr uint64_t max_ns = 1000000000000000;" in terms


def test_core_has_the_structs_that_are_marked_for_it():
    texts = generator.files(json.loads((ROOT / "schemas" / "plan.json").read_text()))
    assert "struct stage_of {" in texts["terms.h"] and "struct stage_of {" not in texts["types.h"]
    assert "stage_of read_stage_of(" in texts["readers.h"]
    assert "_plan {" not in texts["terms.h"]


@pytest.mark.parametrize(
    ("part", "words"),
    [
        ({"type": "string", "maxLength": 5}, "plan_key: maxLength"),
        ({"type": "integer", "minimum": 0}, "a most"),
        ({"type": "integer", "minimum": -1, "maximum": 5}, "a least, 0 or more"),
        ({"type": "integer", "minimum": 0, "maximum": 70_000, "x-cpp": "uint16_t"}, "beyond uint16_t"),
        ({"type": "number"}, "a number needs a least"),
        ({"type": "array", "items": {"type": "boolean"}, "uniqueItems": True}, "uniqueItems"),
        ({"anyOf": [{"type": "string"}, {"type": "boolean"}]}, "a choice of types"),
        ({"type": "object", "additionalProperties": {"type": "boolean"}}, "names that stand for"),
    ],
)
def test_an_unknown_schema_construct_is_an_error(part, words):
    with pytest.raises(generator.Unknown, match=words):
        made(key=part)
