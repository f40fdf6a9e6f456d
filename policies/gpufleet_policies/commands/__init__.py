"""Commands of the audit: `gpufleet` finds this table by its entry point."""

COMMANDS = {
    "audit": "the policy rules over manifests, Helm values, plans, states, previews",
    "check": "verdict on a mig-parted, device-plugin, DRA or operator configuration of yours",
    "policies": "the policy rules, and a pack folder for your own project",
    "doctor": "why this pod waits, why this node offers nothing: causes in a dump of a cluster",
    "adopt": "a cluster, plan or state that exists -> the FleetSpec that is true already",
}
"""Name -> one line of help. The module of that name in this package holds `command`."""
