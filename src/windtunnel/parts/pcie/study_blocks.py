"""What is shown of the PCIe traffic of a study's runs."""

from collections.abc import Iterator

from windtunnel.measure.study.columns import has_metrics
from windtunnel.measure.study.study import Study
from windtunnel.parts.pcie.compared import of_runs
from windtunnel.parts.pcie.document import compared_section
from windtunnel.results.document import Section


def sections(study: Study) -> Iterator[Section]:
    """Of the runs of a study with which PCIe counters were saved."""
    directories = dict.fromkeys(study.path / row["directory"] for row in study.rows if has_metrics(row))
    yield from compared_section(of_runs(directories), "Estimated: each run by its own rates, sizes and bursts.")
