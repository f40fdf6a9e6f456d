"""Commands of the planner: `gpufleet` finds this table by its entry point."""

COMMANDS = {
    "plan": {
        "size": "memory, speed and the cheapest GPU, slice or share for a model",
        "plan": "workloads -> a declaration that compiles and passes the rules",
        "pack": "shares onto GPUs and nodes at least cost, with a proof",
    },
    "money": {
        "rightsize": "use of GPUs by pods, and the sufficient devices",
        "own": "rented compared with owned machines, over years",
    },
}
"""Family -> name -> one line of help. The module of that name in this package holds `command`."""
