"""Right-sizing from measurements: use of GPUs by pods, and the sufficient devices."""
