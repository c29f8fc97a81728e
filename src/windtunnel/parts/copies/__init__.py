"""Copies of payload: bodies of requests come from a source, bodies of responses from where the handler names, by a loop of the CPU or an engine."""
