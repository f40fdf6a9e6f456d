"""What the platforms that run on one cloud have in common. No platform's folder is imported."""
