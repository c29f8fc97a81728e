"""Clients of others as clients of a figure's tenants: each module has how one is started, and reads what it prints."""
