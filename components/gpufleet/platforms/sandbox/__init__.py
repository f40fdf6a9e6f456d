"""The simulated platform: GPU nodes of the sandbox."""
