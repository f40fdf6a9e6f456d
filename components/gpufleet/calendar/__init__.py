"""Capacity as a calendar: what pools and teams have when, what is missing, what it costs."""
