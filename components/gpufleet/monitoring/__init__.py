"""Monitoring: what is measured of the GPUs, who is told, and what is drawn."""
