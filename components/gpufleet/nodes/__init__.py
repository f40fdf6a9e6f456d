"""Components that make GPU nodes: one file per platform."""
