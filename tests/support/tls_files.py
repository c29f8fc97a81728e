"""An access token, a certificate for 127.0.0.2, and its key, as files."""

import shutil
import subprocess
from pathlib import Path

import pytest

TOKEN = "0123456789abcdef0123456789abcdef"
needs_openssl = pytest.mark.skipif(shutil.which("openssl") is None, reason="no openssl to make a certificate")
_NEW_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")


def make(directory: Path) -> tuple[Path, Path, Path]:
    """Of the token, the certificate and its key."""
    token, certificate, key = (directory / name for name in ("token", "cert.pem", "key.pem"))
    token.write_text(TOKEN + "\n")
    token.chmod(0o600)
    subprocess.run(
        ["openssl", "req", "-x509", *_NEW_KEY, "-days", "2", "-subj", "/CN=testbed"]
        + ["-addext", "subjectAltName=IP:127.0.0.2", "-keyout", key, "-out", certificate],
        check=True,
        capture_output=True,
    )
    return token, certificate, key
