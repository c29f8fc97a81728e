"""The machine that a run flies on: what it is, and what that means for a measurement."""
