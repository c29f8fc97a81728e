"""Fleets on paper write many small runs."""

import os

import pytest


@pytest.fixture(autouse=True)
def trusted_disk(monkeypatch):
    """A sync of a file takes ms, and a run that comes back has many."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)
