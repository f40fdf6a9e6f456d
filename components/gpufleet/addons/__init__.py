"""Components that exist once per cluster: operators and what they read."""
