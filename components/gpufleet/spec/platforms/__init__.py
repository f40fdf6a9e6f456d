"""What one platform alone needs to know of a pool."""
