"""From one fleet to another: changes of nodes, and their order."""
