"""`windtunnel reproduce`: what documents claim about data planes, decided on this host.

A claim is a file in `claims/` (`claim`): commands of this product, and the quantities in what they write that decide. `conduct` runs the
commands, `decide` compares the quantities with their bounds, `claim_record` is what is kept, and `claims_document` what is shown.
"""
