"""Copies of payload: what they cost on this host."""
