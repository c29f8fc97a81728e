"""Builds the Rust library of TCP for meson: cargo names its outputs itself, and meson wants to.

build_tcp.py CARGO MANIFEST TARGET_DIR LIBRARY DEPFILE
"""

import shutil
import subprocess
import sys
from pathlib import Path

cargo, manifest, target, library, depfile = sys.argv[1:]
subprocess.run(
    [cargo, "build", "--quiet", "--release", "--locked", "--manifest-path", manifest, "--target-dir", target],
    check=True,
)
built = Path(target, "release", "libwt_tcp.a")
shutil.copyfile(built, library)
sources = built.with_suffix(".d").read_text().partition(":")[2]
Path(depfile).write_text(f"{library}:{sources}")
