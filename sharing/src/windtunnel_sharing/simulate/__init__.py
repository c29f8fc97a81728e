"""A discrete-event simulator of cores that tenants share: who runs when under which policy, and what that does to their requests."""

from windtunnel_sharing.simulate.outcome import Outcome, TenantOutcome, simulate
from windtunnel_sharing.simulate.plan import Change, Machine, Noise, Phase, Plan, Tenant
from windtunnel_sharing.simulate.policies import POLICIES

__all__ = ["POLICIES", "Change", "Machine", "Noise", "Outcome", "Phase", "Plan", "Tenant", "TenantOutcome", "simulate"]
