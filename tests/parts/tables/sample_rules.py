"""A filter as ClassBench writes it."""

FILTER = "@192.168.4.0/24\t10.0.0.1/32\t0 : 65535\t1024 : 65535\t0x06/0xFF\t0x0000/0x0200\n"
