"""Whether this host has what compiles P4 pipelines."""

from shutil import which

from windtunnel.host.facts import Facts
from windtunnel.host.findings import Finding


def judge(facts: Facts, has_engine: bool) -> list[Finding]:
    """Looks for a compiler."""
    if compiler := which("gcc"):
        return [
            Finding(
                subject="compiler", value=compiler, verdict="good", meaning="the handler swx can compile P4 pipelines"
            )
        ]
    return [
        Finding(
            subject="compiler",
            value="no gcc",
            verdict="fair",
            meaning="the handler swx cannot compile P4 pipelines; nothing else needs one",
            remedy="sudo apt-get install gcc libdpdk-dev",
        )
    ]
