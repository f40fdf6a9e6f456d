"""Verdicts on configuration that other people wrote, before it stops a node: one file per kind."""
