"""embed.py OUT NAME=FILE...: a C++ source that holds the files' texts, each under its name, empty where FILE is `-`."""

import sys
from pathlib import Path


def literal(data: bytes) -> str:
    lines = (data[at : at + 20] for at in range(0, len(data), 20))
    return ",\n    ".join(", ".join(str(byte) for byte in line) for line in lines)


def main(out: str, *named: str) -> None:
    text = ['#include "parts/swx/embedded.h"\n\nnamespace wt {\n']
    rows = []
    for index, one in enumerate(named):
        name, _, file = one.partition("=")
        data = b"" if file == "-" else Path(file).read_bytes()
        text.append(f"static const unsigned char text_{index}[] = {{\n    {literal(data + bytes(1))}}};\n")
        rows.append(f'    {{"{name}", {{reinterpret_cast<const char *>(text_{index}), {len(data)}}}}},\n')
    text.append(f"const embedded_file embedded_files[] = {{\n{''.join(rows)}}};\n")
    text.append("const size_t embedded_count = std::size(embedded_files);\n\n}  // namespace wt\n")
    Path(out).write_text("\n".join(text), encoding="ascii")


main(*sys.argv[1:])
