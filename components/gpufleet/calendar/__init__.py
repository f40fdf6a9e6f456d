"""Capacity as a calendar: GPUs of pools and teams over time, shortages and costs."""
