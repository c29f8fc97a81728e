"""PvCC's figures on few cores: each tests claims of the paper with measurements of this host. `windtunnel share reproduce` runs them."""
