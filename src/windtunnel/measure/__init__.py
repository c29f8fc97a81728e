"""Measurements: single runs, studies, searches, comparisons, and their validity."""
