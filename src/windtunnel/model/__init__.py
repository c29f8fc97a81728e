"""Models of tables and of latency: fitted to studies, judged by what they have not seen.

observe     a study's runs as costs by a table's entries
run       what a run directory says beyond the study's table: steps, and the tables' own figures
settings    which tables are alike
neighbour   what a stranger on the same core did to costs, taken out
points      what a form is fitted to
forms       the forms that a cost may take
thesis      the thesis' forms, and its published curve
popularity  keys that are not all wanted equally often, tables that share a cache
heldout     errors at sizes that were left out: by these a form is chosen
curve       one curve: form, intervals, errors
fit         a study becomes a model
record      the model's file
places      on which host it holds
predict     what it says of a size that was not run
pipeline    several tables, from models of one each
composed    pipelines that were run, held against that
queueing    latency against load
latency     a study over loads becomes a model
check       all of it for several studies
asking      what the command line asks
view        models in the terminal
"""
