"""Whether this machine can build the Rust library of TCP, for meson: its version, and the crates that it needs.

find_rust.py CARGO MANIFEST

Says on stderr what is missing, and returns 1. The first time the crates come over the network; cargo keeps them.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

cargo, manifest = sys.argv[1:]
least = re.findall(r'^rust-version = "(.*)"$', Path(manifest).read_text(), re.MULTILINE)[0]


def said(*command: str) -> subprocess.CompletedProcess[str]:
    # one that waits for nobody: without a network the build goes on without TCP
    environment = os.environ | {"CARGO_NET_RETRY": "1", "CARGO_HTTP_TIMEOUT": "15"}
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False)


def version_of(name: str) -> tuple[int, ...]:
    try:
        found = re.search(r"(\d+)\.(\d+)", said(name, "--version").stdout)
    except OSError:
        found = None
    return tuple(map(int, found.groups())) if found else ()


for tool in (cargo, os.environ.get("RUSTC", "rustc")):
    version = version_of(tool)
    if version < tuple(map(int, least.split("."))):
        shown = ".".join(map(str, version)) or "without a version"
        sys.exit(f"{Path(tool).name} is {shown}, and {least} or later is needed")

fetch = (cargo, "fetch", "--locked", "--manifest-path", manifest)
if said(*fetch, "--offline").returncode != 0 and (online := said(*fetch)).returncode != 0:
    sys.exit(f"cargo cannot fetch the crates of {manifest}, which needs a network once:\n{online.stderr.strip()}")
