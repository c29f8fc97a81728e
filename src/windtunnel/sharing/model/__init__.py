"""What a slice costs and what it gives on a host: fitted to live points, judged by points that were held out, asked for advice."""
