"""What tests of the spine ask the part for."""

from windtunnel.parts.rdma.catalogue import SCENARIOS

RUN_ELSEWHERE = set(SCENARIOS["RDMA"])
"""In test_rdma_runs, because two runs at once would want one address."""
