"""Studies: a scenario x factors x repeats, and its question.

definition   the study file, read, with an error that names what is wrong
values       lists, ranges and log ranges as a scenario takes them
factors      what changes from point to point, no key twice
constraints  the points that are left
design       every point loaded, checked, and placed on this host
record       study.json
identity     whether a study that is taken up again is still the same
directory    what lies where, and who may write
conduct      the runs, in the order that was drawn
columns      the table's columns, and a run's rows in it
table        results.parquet
query        SQL over it
states       points within one state of the host
findings     what follows from the numbers
study        all of that, from a file to a report
"""
