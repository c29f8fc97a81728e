"""Plug-ins, built."""

import subprocess
from pathlib import Path

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
