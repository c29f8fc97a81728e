"""Plug-ins, built."""

import itertools
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from scenario_tools import SHIPPED

ROOT = SHIPPED.parent
BROKEN = ROOT / "engine" / "tests" / "plugins"
HANDLER = """
#include <windtunnel/handler.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
BESIDE
__attribute__((constructor)) static void load(void) { LOADED }
static int open_it(const struct wt_open *o, void **s) { (void)o; *s = NULL; OPENED return 0; }
static void close_it(void *s) { (void)s; CLOSED }
static void respond(void *s, struct wt_exchange *b, uint32_t n) { (void)s; (void)b; (void)n; RESPONDS }
const struct wt_handler wt_handler = {.abi = WT_HANDLER_ABI, .size = sizeof(struct wt_handler), .name = "hostile",
    .help = "does what it should not", .kind = WT_MESSAGE_HANDLER, .open = open_it, .close = close_it,
    .message = respond};
"""


def built(directory, name: str):
    """One of the engine's own broken plug-ins."""
    return compiled(BROKEN / f"{name}.c", directory / f"lib{name}.so", "-std=c11", "-Wno-override-init")


def handler(library: Path, *flags: str, beside: str = "", **does: str) -> Path:
    """A message handler that does this, in C, when it is `loaded`, `opened` or `closed`, and `responds` to a batch of requests. `beside`:
    functions that it calls."""
    text = HANDLER.replace("BESIDE", beside)
    for hook in ("loaded", "opened", "closed", "responds"):
        text = text.replace(hook.upper(), does.pop(hook, ""))
    assert not does
    source = library.with_suffix(".c")
    source.write_text(text)
    return compiled(source, library, *flags)


def compiled(source: Path, library: Path, *flags: str) -> Path:
    """The library, made of a source in C."""
    subprocess.run(["cc", "-shared", "-fPIC", "-I", str(ROOT / "include"), *flags, "-o", library, source], check=True)
    return library


def example(away: Path, name: str, language: str) -> Path:
    """The library of an example in plugins/, copied out of the tree and built there; `language`: C or Rust."""
    return built_with_make(away, name) if language == "C" else built_with_cargo(rust_copy(away, f"{name}-rust"))


def built_with_make(away: Path, name: str) -> Path:
    """With its own Makefile, against headers where they are installed."""
    shutil.copytree(ROOT / "include", away / "prefix" / "include")
    mine = shutil.copytree(ROOT / "plugins" / name, away / "mine", ignore=shutil.ignore_patterns("*.so"))
    include = away / "prefix" / "include"
    subprocess.run(["make", "-s", "-C", mine, f"WINDTUNNEL_INCLUDE={include}", "CFLAGS=-O2 -Werror"], check=True)
    return mine / "libmine.so"


def rust_copy(away: Path, name: str) -> Path:
    ignored = shutil.ignore_patterns("target", "Cargo.lock")
    return shutil.copytree(ROOT / "plugins" / name, away / "mine-rust", ignore=ignored)


def built_with_cargo(crate: Path) -> Path:
    cargo(crate, "build", "--release")
    return crate / "target" / "release" / "libmine.so"


def cargo(crate: Path, *command: str) -> str:
    """What cargo says, without a network: the examples have no crates to fetch."""
    if not shutil.which("cargo"):
        pytest.skip("no cargo here: what is in Rust is not built")
    plain = {name: value for name, value in os.environ.items() if not name.startswith(("CARGO_TARGET", "RUSTFLAGS"))}
    done = subprocess.run(
        ["cargo", *command, "--offline"], cwd=crate, env=plain, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "warning" not in done.stderr
    return done.stdout


def assert_equal_to_header(name: str, header: str, structures: int, constants: int, directory: Path) -> None:
    """The bindings of an example in Rust: sizes, the order of fields, and constants. Numbers on one side are asserted by the Rust compiler,
    here by the C compiler."""
    mirror = (ROOT / "plugins" / name / "src" / "abi.rs").read_text()
    sizes = dict(re.findall(r"assert!\(size_of::<(\w+)>\(\) == (\d+)\)", mirror))
    assert set(sizes) == set(re.findall(r"pub struct (\w+)", mirror)) and len(sizes) == structures
    values = dict(re.findall(r"pub const (\w+): u\d+ = ([\d< ]+);", mirror))
    assert len(values) == constants
    claims = [f"sizeof(struct wt_{structure.lower()}) == {size}" for structure, size in sizes.items()]
    claims += [f"WT_{constant} == ({value})" for constant, value in values.items()]
    for structure, body in re.findall(r"pub struct (\w+) {(.*?)}", mirror, re.DOTALL):
        fields = [field.removeprefix("option_") for field in re.findall(r"pub (\w+):", body) if field != "option_count"]
        at = [f"offsetof(struct wt_{structure.lower()}, {field})" for field in fields]
        claims += [f"{first} < {second}" for first, second in itertools.pairwise(at)]
    source = directory / "claims.c"
    asserts = "".join(f'_Static_assert({claim}, "");\n' for claim in claims)
    source.write_text(f"#include <windtunnel/{header}>\n{asserts}")
    subprocess.run(["cc", "-std=c11", "-fsyntax-only", "-I", str(ROOT / "include"), source], check=True)
