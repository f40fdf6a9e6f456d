"""Paired measurements: ratios taken in one run on one machine, never absolute times in a test."""
