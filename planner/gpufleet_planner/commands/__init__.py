"""Commands of the planner: `gpufleet` finds this table by its entry point."""

COMMANDS = {
    "size": "memory ledger, speed and the cheapest GPU, slice or share for a model",
    "plan": "workloads -> a FleetSpec that compiles and passes the policies",
    "pack": "shares onto GPUs and nodes at least cost, with a lower bound and the gap",
    "rightsize": "what pods used of their GPUs by measurement, and what would have been enough",
    "own": "a rented fleet against machines of your own over years: money, month, utilisation",
}
"""Name -> one line of help. The module of that name in this package holds `command`."""
