"""`windtunnel ui`: what runs on this host, in a browser. It reads along what processes announce (`windtunnel.live`)."""
