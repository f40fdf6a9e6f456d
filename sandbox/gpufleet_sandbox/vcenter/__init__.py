"""A vCenter of one's own: govmomi's simulator with GPUs, and a proxy that makes it fail."""
