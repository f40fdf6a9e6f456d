"""MIG slices: how each is used, and what is cut but not held."""

from typing import Any

from gpufleet.render.dashboards.panel import Panel, dashboard, variable

_SLICE = 'GPU_I_ID!="", GPU_I_PROFILE=~"$profile", node=~"$node"'
_LEGEND = "{{node}} {{gpu}}/{{GPU_I_ID}} {{GPU_I_PROFILE}}"
_RESOURCE = 'resource=~"nvidia_com_mig_.*"'


def slices_dashboard(*, profiling: bool) -> dict[str, Any]:
    """Dashboard of MIG slices; what only profiling measures is left out without it."""
    held = [
        Panel(
            "Cut and held",
            (
                (f"sum by (resource) (gpu:allocatable:count{{{_RESOURCE}}})", "{{resource}} cut"),
                (f"sum by (resource) (gpu:requested:count{{{_RESOURCE}}})", "{{resource}} held"),
            ),
        ),
        Panel(
            "Waiting for a slice",
            (
                (
                    f"sum by (namespace, pod, resource) (gpu:pending:count{{{_RESOURCE}}})",
                    "{{namespace}}/{{pod}} {{resource}}",
                ),
            ),
        ),
    ]
    use = [
        Panel(
            title,
            ((f"gpu:{series}:ratio{{{_SLICE}}}", _LEGEND),),
            unit="percentunit",
            most=1,
        )
        for title, series in (
            ("Engine", "engine_active"),
            ("Tensor cores", "tensor_active"),
            ("Memory interface", "memory_active"),
            ("Memory used", "memory_used"),
        )
        if profiling or series == "memory_used"
    ]
    who = Panel(
        "Who holds which slice",
        (
            (
                (
                    "max by (node, gpu, GPU_I_ID, GPU_I_PROFILE, workload_namespace, workload_pod) "
                    f"(gpu:memory_used:ratio{{{_SLICE}}})"
                ),
                "",
            ),
        ),
        "table",
        "percentunit",
        24,
    )
    failed = Panel(
        "Nodes that could not be cut",
        (('kube_node_labels{label_nvidia_com_mig_config_state="failed"}', "{{node}}"),),
        "table",
        width=24,
        height=5,
    )
    return dashboard(
        "gpufleet-slices",
        "GPU slices (MIG)",
        [("What is held", held), ("How it is used", use), ("Which", [who, failed])],
        [
            variable("node", "Node", 'label_values(gpu:memory_used:ratio{GPU_I_ID!=""}, node)'),
            variable("profile", "Profile", "label_values(gpu:memory_used:ratio, GPU_I_PROFILE)"),
        ],
    )
