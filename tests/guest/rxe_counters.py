"""What an RDMA device of software has counted, and what perftest measures on it."""

import re
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

from rdma_guest import RdmaGuest

COLUMN = re.compile(r"#\w+|[\w.%]+(?: \w+)?\[[^]]*\]")
NAMES = {"hw_counters/sent_pkts": "sent", "hw_counters/rcvd_pkts": "received"}
READ = """
cd /sys/class/infiniband/rxe0/ports/1
for file in hw_counters/* cm_tx_msgs/* cm_tx_retries/*; do [ -f "$file" ] && echo "$file $(cat "$file")"; done
"""


def counted(guests: set[RdmaGuest]) -> Counter[str]:
    """The sums over the guests' devices since they were made. `sent` and `received`: packets. `management`: packets sent of rdma_cm,
    which meets peers with packets of its own: they are in `sent`, too."""
    total: Counter[str] = Counter()
    for guest in guests:
        for line in guest.well(READ).splitlines():
            file, value = line.split()
            total[NAMES.get(file, "management" if file.startswith("cm_tx") else file)] += int(value)
    return total


def perftest(server: RdmaGuest, client: RdmaGuest, command: str) -> dict[str, float]:
    """One program of perftest between both, or within one guest; the columns of its table."""
    with ThreadPoolExecutor(1) as pool:
        serves = pool.submit(server.run, f"{command} -F -d rxe0")
        said = client.well(f"sleep 1; {command} -F -d rxe0 10.9.0.1")
        assert serves.result().code == 0, serves.result().text
    [head] = [line for line in said.splitlines() if line.lstrip().startswith("#bytes")]
    values = said.splitlines()[said.splitlines().index(head) + 1].split()
    return dict(zip(COLUMN.findall(head), map(float, values), strict=True))
