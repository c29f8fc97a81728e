"""Processes and threads that share cores."""
