"""Right-sizing from measurements: what pods used of their GPUs, and what would have been enough."""
