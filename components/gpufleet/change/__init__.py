"""From one fleet to another: what happens to nodes, in which order."""
