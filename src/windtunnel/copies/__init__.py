"""Copies of payload: their costs on this host."""
