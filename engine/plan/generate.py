"""generate.py SCHEMA FILE...: the engine's side of the plan, written from its JSON Schema.

`schemas/plan.json` comes from the models in src/windtunnel/engine/plan.py, the one place that states keys, types, ranges and
words. A FILE is named like one of these:

    terms.h      what the room core needs, which knows no plan: the constants that both sides share, for C and C++, an enum for each
                 set of words, and the structs with `x-core`
    types.h      a struct for each other model
    readers.h    a strict reader for each struct
    readers.cc   what they are made of: json_reader.h does the work

What JSON Schema cannot say stands beside it as `x-...`:

    x-cpp            the C++ name of a struct or of an enum, or the type of a whole number
    x-core           of a struct of numbers and words: it stands in terms.h
    x-power-of-two   of a whole number
    x-constants      of the whole plan: names and values

A key of the schema that this generator does not know is an error: no range is left out in silence.
"""

import json
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Schema = dict[str, Any]

HEAD = (
    "/* Generated from schemas/plan.json by engine/plan/generate.py. Change src/windtunnel/engine/plan.py instead. */\n"
)
PLAIN = {"title", "description", "default"}
KEYWORDS = """
alignas alignof and and_eq asm auto bitand bitor bool break case catch char class compl concept const constexpr continue decltype
default delete do double else enum explicit export extern false float for friend goto if inline int long mutable namespace new
noexcept not not_eq nullptr operator or or_eq private protected public register requires return short signed sizeof static struct
switch template this throw true try typedef typeid typename union unsigned using virtual void volatile while xor xor_eq
"""
MOST = {"uint8_t": 2**8 - 1, "uint16_t": 2**16 - 1, "uint32_t": 2**32 - 1, "uint64_t": 2**64 - 1, "int": 2**31 - 1}
FORMATS = {"ip": ("ip_address", "read_ip"), "mac": ("mac_address", "read_mac")}
"""Format of a text -> its C++ type, and the function of addresses.h that reads it."""


@dataclass
class Value:
    """What stands behind a key: its C++ type, and the expression that reads it from `v`."""

    type: str
    read: str
    function: str = ""
    """The reader's name where a plain function does it."""

    def reader(self) -> str:
        return self.function or f"[](const json_value &v) {{ return {self.read}; }}"


@dataclass
class Member:
    name: str
    key: str
    value: Value
    text: str


@dataclass
class Struct:
    name: str
    reader: str
    text: str
    core: bool = False
    members: list[Member] = field(default_factory=list)
    constants: dict[str, int] = field(default_factory=dict)
    """Key -> the one value that it may have."""


class Unknown(Exception):
    """The schema says what this generator does not know."""


def snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def identifier(word: str) -> str:
    """A word as a C++ name: `no-huge` is no_huge, `new` is new_, `24` is n24."""
    name = re.sub(r"[^A-Za-z0-9_]", "_", word)
    return f"n{name}" if name[0].isdigit() else f"{name}_" if name in KEYWORDS.split() else name


def quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def only(schema: Schema, path: str, *known: str) -> None:
    if unknown := schema.keys() - PLAIN - set(known):
        raise Unknown(f"{path}: {', '.join(sorted(unknown))}")


class Translation:
    """The schema, translated part by part; what a part needs stands before it."""

    def __init__(self, schema: Schema):
        self.schema = schema
        self.enums: dict[str, list[str]] = {}
        self.structs: dict[str, Struct] = {}
        root = {key: part for key, part in schema.items() if key not in ("$defs", "x-constants")}
        self.struct(schema["title"], root)

    def struct(self, model: str, part: Schema) -> Struct:
        only(part, model, "type", "properties", "required", "additionalProperties", "x-cpp", "x-core")
        if part.get("additionalProperties") is not False or list(part["properties"]) != part.get("required"):
            raise Unknown(f"{model}: a key that may be left out, or one that has no name")
        short = snake(model)
        name = part.get("x-cpp") or (short if model == self.schema["title"] else f"{short}_plan")
        made = Struct(name, f"read_{short}", part.get("description", ""), part.get("x-core", False))
        for key, value in part["properties"].items():
            path = f"{short}_{key}"
            if "const" in value:
                only(value, path, "const", "type")
                made.constants[key] = value["const"]
                continue
            text = value.get("description", "")
            made.members.append(Member(identifier(key), key, self.value(value, path), text))
        self.structs[model] = made
        return made

    def value(self, part: Schema, path: str) -> Value:
        if "$ref" in part:
            only(part, path, "$ref")
            model = part["$ref"].rpartition("/")[2]
            known = self.structs.get(model) or self.struct(model, self.schema["$defs"][model])
            return Value(known.name, f"{known.reader}(v)", known.reader)
        if "anyOf" in part:
            only(part, path, "anyOf")
            inner, null = part["anyOf"]
            if null != {"type": "null"}:
                raise Unknown(f"{path}: a choice of types")
            made = self.value(inner, path)
            return Value(f"std::optional<{made.type}>", f"v.optional({made.reader()})")
        if "enum" in part:
            return self.words(part, path) if part["type"] == "string" else self.one_of(part, path)
        kinds: dict[str, Callable[[Schema, str], Value]] = {
            "integer": self.integer,
            "number": self.number,
            "boolean": self.boolean,
            "string": self.string,
            "array": self.array,
            "object": self.object,
        }
        return kinds[part["type"]](part, path)

    def words(self, part: Schema, path: str) -> Value:
        only(part, path, "type", "enum", "x-cpp")
        name = part.get("x-cpp", path)
        if self.enums.setdefault(name, part["enum"]) != part["enum"]:
            raise Unknown(f"{path}: another {name} has other words")
        return Value(name, f"v.choice<{name}>({names_of(name)})")

    def one_of(self, part: Schema, path: str) -> Value:
        only(part, path, "type", "enum")
        type_ = whole_type(max(part["enum"]))
        return Value(type_, f"v.one_of<{type_}>({{{', '.join(map(str, part['enum']))}}})")

    def integer(self, part: Schema, path: str) -> Value:
        known = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "x-power-of-two", "x-cpp")
        only(part, path, "type", *known)
        low = part["minimum"] if "minimum" in part else part.get("exclusiveMinimum", -1) + 1
        high = part["maximum"] if "maximum" in part else part.get("exclusiveMaximum", 0) - 1
        if not 0 <= low <= high:
            raise Unknown(f"{path}: a whole number needs a least, 0 or more, and a most")
        type_ = part.get("x-cpp") or whole_type(high)
        if high > MOST[type_]:
            raise Unknown(f"{path}: {high} is beyond {type_}")
        limits = f"{low}, {high}{'u' * (high >= 2**63)}"
        if part.get("x-power-of-two"):
            return Value(type_, f"v.power_of_two<{type_}>({limits})")
        if "multipleOf" in part:
            return Value(type_, f"v.multiple<{type_}>({part['multipleOf']}, {limits})")
        return Value(type_, f"v.whole<{type_}>({limits})")

    def number(self, part: Schema, path: str) -> Value:
        only(part, path, "type", "minimum", "maximum", "exclusiveMinimum")
        low = part.get("exclusiveMinimum", part.get("minimum"))
        if low is None:
            raise Unknown(f"{path}: a number needs a least")
        high = repr(float(part["maximum"])) if "maximum" in part else "largest_real"
        return Value("double", f"v.real({float(low)!r}, {high}{', false' * ('exclusiveMinimum' in part)})")

    def boolean(self, part: Schema, path: str) -> Value:
        only(part, path, "type")
        return Value("bool", "v.truth()")

    def string(self, part: Schema, path: str) -> Value:
        only(part, path, "type", "format")
        if "format" not in part:
            return Value("std::string", "v.text()")
        type_, reader = FORMATS[part["format"]]
        return Value(type_, f"{reader}(v)", reader)

    def array(self, part: Schema, path: str) -> Value:
        only(part, path, "type", "items", "minItems", "maxItems")
        item = self.value(part["items"], path)
        counts = [part[key] for key in ("minItems", "maxItems") if key in part]
        if "maxItems" in part and "minItems" not in part:
            counts.insert(0, 0)
        return Value(f"std::vector<{item.type}>", f"v.list({', '.join([item.reader(), *map(str, counts)])})")

    def object(self, part: Schema, path: str) -> Value:
        only(part, path, "type", "additionalProperties", "propertyNames")
        if "propertyNames" in part:
            return self.by_word(part, path)
        if part["additionalProperties"] != {"type": "string"}:
            raise Unknown(f"{path}: names that stand for something else than texts")
        return Value("std::map<std::string, std::string>", "v.texts_by_name()")

    def by_word(self, part: Schema, path: str) -> Value:
        """Values by the words of an enum, of which each may be there."""
        words = self.words({"type": "string"} | part["propertyNames"], path)
        item = self.value(part["additionalProperties"], path)
        type_ = f"std::map<enum {words.type}, {item.type}>"
        return Value(type_, f"v.by_word<{words.type}>({names_of(words.type)}, {item.reader()})")


def whole_type(most: int) -> str:
    return next(type_ for type_ in ("uint16_t", "uint32_t", "uint64_t") if most <= MOST[type_])


def names_of(enum: str) -> str:
    """The table of an enum's words: `stage_kind` has stage_names."""
    return f"{enum.removesuffix('_kind')}_names"


def comment(text: str, indent: str = "") -> Iterator[str]:
    line = f"{indent}//"
    for word in text.split():
        if len(line) + 1 + len(word) > 110:
            yield line
            line = f"{indent}//"
        line += f" {word}"
    if text:
        yield line


def enum_lines(name: str, words: list[str]) -> Iterator[str]:
    table = names_of(name)
    yield f"enum class {name} : uint8_t {{ {', '.join(map(identifier, words))} }};"
    yield f"constexpr const char *{table}[{len(words)}] = {{{', '.join(map(quoted, words))}}};"
    yield f"constexpr const char *name_of({name} which) {{ return {table}[static_cast<uint8_t>(which)]; }}"
    yield ""


def member_lines(member: Member, enums: dict[str, list[str]]) -> Iterator[str]:
    yield from comment(member.text, "    ")
    type_ = member.value.type
    if member.name in enums:  # a member may be called like its type, which then needs `enum` in front
        type_ = re.sub(rf"\b{member.name}\b", f"enum {member.name}", type_)
    yield f"    {type_} {member.name};"


def struct_lines(struct: Struct, enums: dict[str, list[str]]) -> Iterator[str]:
    for key, value in struct.constants.items():
        yield f"constexpr uint64_t {struct.name}_{key} = {value};"
    yield from comment(struct.text)
    yield f"struct {struct.name} {{"
    for member in struct.members:
        yield from member_lines(member, enums)
    yield "};"
    yield ""


def reader_lines(struct: Struct) -> Iterator[str]:
    yield f"{struct.name} {struct.reader}(const json_value &value) {{"
    yield "    return read_object(value, [](json_object &o) {"
    for key, constant in struct.constants.items():
        yield f"        o[{quoted(key)}].one_of<uint64_t>({{{constant}}});"
    yield f"        return {struct.name}{{"
    for member in struct.members:
        read = re.sub(r"\bv\b", f"o[{quoted(member.key)}]", member.value.read, count=1)
        yield f"            .{member.name} = {read},"
    yield "        };"
    yield "    });"
    yield "}"
    yield ""


def files(schema: Schema) -> dict[str, str]:
    made = Translation(schema)
    constants: dict[str, int] = schema.get("x-constants", {})
    structs = list(made.structs.values())
    terms = [
        "#ifndef WT_CORE_TERMS_H",
        "#define WT_CORE_TERMS_H",
        "",
        "enum {",
        *(f"    PLAN_{name} = {value}," for name, value in constants.items() if value <= MOST["int"]),
        "};",
        "",
        "#ifdef __cplusplus",
        "#include <cstdint>",
        "namespace wt {",
        *(
            f"constexpr {whole_type(max(value, 1 << 16))} {name.lower()} = {value};"
            for name, value in constants.items()
        ),
        "",
        *(line for name, words in made.enums.items() for line in enum_lines(name, words)),
        *(line for struct in structs if struct.core for line in struct_lines(struct, made.enums)),
        "}",
        "#endif",
        "",
        "#endif",
    ]
    types = [
        "#pragma once",
        "",
        *(f"#include <{name}>" for name in ("cstdint", "map", "optional", "string", "vector")),
        "",
        '#include "core/frame.h"',
        '#include "core/terms.h"',
        "",
        "namespace wt {",
        "",
        *(line for struct in structs if not struct.core for line in struct_lines(struct, made.enums)),
        "}  // namespace wt",
    ]
    readers = [
        "#pragma once",
        "",
        '#include "plan/json_reader.h"',
        '#include "plan/types.h"',
        "",
        "namespace wt {",
        "",
        "// Each throws refusal with the path of the key: one that is missing or unknown, a value beyond its range.",
        *(f"{struct.name} {struct.reader}(const json_value &value);" for struct in structs),
        "",
        "}  // namespace wt",
    ]
    code = [
        '#include "plan/readers.h"',
        "",
        "#include <limits>",
        "",
        '#include "plan/addresses.h"',
        "",
        "namespace wt {",
        "",
        "static constexpr double largest_real = std::numeric_limits<double>::max();",
        "",
        *(line for struct in structs for line in reader_lines(struct)),
        "}  // namespace wt",
    ]
    texts = {"terms.h": terms, "types.h": types, "readers.h": readers, "readers.cc": code}
    return {name: HEAD + "\n".join(lines) + "\n" for name, lines in texts.items()}


def main(schema: str, *names: str) -> None:
    texts = files(json.loads(Path(schema).read_text()))
    for file in map(Path, names):
        text = texts[file.name]
        if not file.exists() or file.read_text() != text:  # a bound that changes recompiles its reader, not the engine
            file.write_text(text)


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except Unknown as unknown:
        sys.exit(f"{sys.argv[1]}: {unknown}: engine/plan/generate.py does not know it")
