"""The DPDK applications of this host, and how one attaches to each."""

from collections.abc import Sequence
from dataclasses import asdict
from json import dumps

from windtunnel import format as fmt
from windtunnel.parts.attach.processes import Application
from windtunnel.results.document import Document, Section, Sentence, Table, columns_of


def list_document(applications: Sequence[Application]) -> Document:
    """One row an application."""
    if not applications:
        nothing = "No process with DPDK that this user may read runs here."
        return Document(kind="attach", title="DPDK applications of this host", blocks=[Sentence(nothing)])
    column = columns_of(applications)
    return Document(
        kind="attach",
        title="DPDK applications of this host",
        blocks=[
            Section(
                "Applications",
                [
                    Table(
                        [
                            column("PID", lambda a: str(a.pid)),
                            column("program", lambda a: a.name, words=True),
                            column("DPDK", lambda a: a.release or "linked in", words=True),
                            column("prefix", lambda a: fmt.words(a.prefix), words=True),
                            column("workers", lambda a: fmt.count(len(a.lcores))),
                            column("attach", _way, words=True),
                        ]
                    )
                ],
            )
        ],
    )


def _way(application: Application) -> str:
    if application.has_probe:
        return "yes: the probe is in it"
    return application.obstacle or "yes, while it runs"


def json_text(applications: Sequence[Application]) -> str:
    """The same for machines."""
    return dumps([asdict(application) for application in applications], indent=1, default=str)
