"""Who pays for a node."""
