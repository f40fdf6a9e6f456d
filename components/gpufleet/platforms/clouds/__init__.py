"""Shared code of the platforms on one cloud. It imports no platform's folder."""
