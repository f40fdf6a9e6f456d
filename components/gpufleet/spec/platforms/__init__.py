"""Settings of a pool for one platform only."""
