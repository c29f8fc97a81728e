"""Windtunnel: put a data plane in the wind tunnel before it flies."""

__version__ = "0.1.0"
