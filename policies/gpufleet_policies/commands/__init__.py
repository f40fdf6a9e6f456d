"""Commands of the audit: `gpufleet` finds this table by its entry point."""

COMMANDS = {
    "fleet": {"adopt": "a cluster, plan or state that exists -> its declaration"},
    "gate": {
        "audit": "manifests, values, plans, states, dumps: waste and errors",
        "check": "one NVIDIA, network or Karpenter configuration",
        "policies": "the rules, and a policy pack for your project",
    },
}
"""Family -> name -> one line of help. The module of that name in this package holds `command`."""
