"""Tenants: found among running processes, or started for a measurement and ended with it."""

from windtunnel.sharing.tenants.find_threads import Tenant, by_pid, cpu_ns
from windtunnel.sharing.tenants.kept_process import Kept

__all__ = ["Kept", "Tenant", "by_pid", "cpu_ns"]
