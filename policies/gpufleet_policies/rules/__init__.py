"""Rules: one place each, pure over facts."""
