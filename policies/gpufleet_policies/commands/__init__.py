"""Commands of the audit: `gpufleet` finds this table by its entry point."""

COMMANDS = {
    "fleet": {"adopt": "a cluster, plan or state that exists -> its declaration"},
    "gate": {
        "audit": "manifests, values, plans, states, dumps: waste and errors",
        "policies": "the rules, and a policy pack for your project",
    },
    "live": {"doctor": "why this pod waits, this node offers nothing, this GPU idles"},
    "": {"check": "the former name of `audit --as`"},
}
"""Family -> name -> one line of help. The module of that name in this package holds `command`.
Commands of no family are former names, which `--help` does not list."""
