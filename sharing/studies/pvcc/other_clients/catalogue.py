"""The clients of others, by their names."""

from pvcc.other_clients.memtier import MEMTIER
from pvcc.other_clients.mutilate import MUTILATE
from pvcc.other_clients.redis_benchmark import REDIS_BENCHMARK
from pvcc.other_clients.wrk import WRK, WRK2

OTHER_CLIENTS = {client.name: client for client in (MUTILATE, MEMTIER, WRK, WRK2, REDIS_BENCHMARK)}
