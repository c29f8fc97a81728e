"""Copies of payload: bodies of requests come from a source, bodies of responses from where the handler names, by a loop of the CPU or an engine.

Copies end later, and packets leave in order. `app_tx` copies requests from a source; `app_rx` of a server copies responses whose copies the
handler names. Both keep packets whose bodies are copied in one FIFO. It polls first, at most a batch, and never waits. If a copier fails, the
CPU makes the copy, and it is counted. A copier that does not end its copies is given up once, and the mbufs that it may still write to are
never used again. Copies end before a worker is held, because a hold stops the run's time but not the copy engine. Workers without a copier
run the plain stage functions.

A modelled engine holds the clock, not the worker: the CPU moves the bytes, and the copier then sets the run's time by the engine's figures. So
stages, ledgers, `verify` and planted faults are those of every run. It needs a run with one worker, because no other worker may see the time
in between. `engine_profiles` reads the figures (shipped ones are in `engines/`), the plan carries numbers, and the engine does the arithmetic.
"""
