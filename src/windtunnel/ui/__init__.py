"""`windtunnel ui`: what runs on this host, and what ran, in a browser. It reads along what processes announce (`windtunnel.live`)."""
