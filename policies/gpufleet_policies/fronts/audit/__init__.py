"""Audit front: validates files of any kind, and reports where people and programs read it."""
