"""Models of tables and of latency: fitted to studies, judged by their held-out errors.

arrays          types of arrays
observe         a study's runs as costs by a table's entries
measured_runs   what run directories add to the study's table: steps, and the tables' own counters
table_settings  which tables are alike, and how large they are
states          runs in one state of the host
neighbour       corrects costs for another hardware thread on the core
points          what a form is fitted to
forms           the forms that a cost may have
thesis          the thesis' forms, and its published curve
popularity      keys of unequal popularity, tables that share a cache
heldout         held-out errors: forms are chosen by them
curve           one curve: form, intervals, errors
fit             fits a model to a study
model_record    the model's file
same_host       the host that a model is valid on
predict         predictions for sizes that were not run
pipeline        several tables, from models of one each
composed        measured pipelines, compared with these predictions
queueing        latency against load
latency         fits a model to a study over loads
validate        held-out errors of several studies
capacity        other cores, queues, batches and NICs, from one run
requests        the requests of `windtunnel model predict`
model_command   the commands; each shows a document
..._document    a fitted model, a prediction and a validation, as documents
charts          their plots

For the rooms: `commands` has the commands for `cli`, `schemas` the schema of a model's file.
"""
