"""Why a run is as fast as it is: what limits it, by which evidence, and what could not be measured.

planted     takes out of a run what was put in on purpose: a diagnosis must not use it
recorded    what other tools counted during the run
observation what a diagnosis reads of a run
limits      what limits the rate: a worker, the messages in flight, a link, the load, the host, or a tie
own_time    time of a worker that no stage's work shows: in the kernel, in long calls
confidence  the chance that a cause is right, by planted faults with the same kind of evidence
cause       how a cause is searched for, and the gain that its remedy should bring
causes      why, one file each: evidence, remedy, what it should bring
experiment  what limits by experiment: slopes of delays, and remedies, of windows of one run
delays      delays of workers, as variants of a run
blocks      the windows of an experiment, in blocks of all variants
alone       what a worker pays for the others: its stages while these hold still
turns       remedies that need a new start, in turns with the file by windows
conduct     the runs of a diagnosis
tried       remedies, run in turns with the file, for --try
accounts    where a worker's nanoseconds went, with the rest that no part has
document    a diagnosis as a document

For the rooms: `commands` has the command, `schemas` the schema of its JSON. Parts add to it in their module
`diagnosis`: fields of the JSON, and `sections` of the document; and in `own_causes`: what a run with the part may have.
"""
