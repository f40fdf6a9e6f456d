"""A declaration that is fine, and one mistake at a time: structure, numbers, names, hardware."""

import copy
import re

GOOD = {
    "catalogue": "2026.11",
    "platform": "eks",
    "cluster": {"name": "ml", "region": "us-east-1", "kubernetesVersion": "1.36"},
    "pools": [
        {"name": "chat", "gpu": "L4", "nodes": {"min": 0, "max": 4}},
        {
            "name": "notebooks",
            "instanceTypes": ["p4de.24xlarge"],
            "nodes": {"min": 0, "max": 1},
            "sharing": {"mig": {"layouts": [{"devices": {"1g.10gb": 7}}]}},
        },
    ],
}

REMOVE = object()


def changed(changes: dict[str, object]) -> dict:
    """GOOD with values set at paths such as `pools[0].nodes.min`."""
    data = copy.deepcopy(GOOD)
    for path, value in changes.items():
        steps = [int(s) if s.isdigit() else s for s in re.findall(r"[^.\[\]]+", path)]
        here = data
        for step in steps[:-1]:
            here = here[step]
        if value is REMOVE:
            del here[steps[-1]]
        else:
            here[steps[-1]] = value
    return data


Case = tuple[str, dict[str, object], str, str]
"""Name, changes of GOOD, the code that names the mistake, a part of its path."""

SPECS: tuple[Case, ...] = (
    # structure
    ("unknown key", {"pols": []}, "spec-key-unknown", "pols"),
    ("unknown key in a pool", {"pools[0].gpus": "L4"}, "spec-key-unknown", "pools[0].gpus"),
    ("snake case", {"pools[0].gpus_per_node": 1}, "spec-key-unknown", "pools[0].gpus_per_node"),
    ("no pools", {"pools": REMOVE}, "spec-key-missing", "pools"),
    ("empty pools", {"pools": []}, "spec-length-out-of-range", "pools"),
    ("pool without nodes", {"pools[0].nodes": REMOVE}, "spec-key-missing", "pools[0].nodes"),
    ("pool without name", {"pools[0].name": REMOVE}, "spec-key-missing", "pools[0].name"),
    ("pools as mapping", {"pools": {"a": 1}}, "spec-value-wrong-type", "pools"),
    ("pool as text", {"pools[0]": "chat"}, "spec-value-wrong-type", "pools[0]"),
    ("null pool", {"pools[0]": None}, "spec-value-wrong-type", "pools[0]"),
    ("unknown platform", {"platform": "azure"}, "spec-value-unknown", "platform"),
    ("unquoted edition", {"catalogue": 2026.11}, "spec-value-wrong-type", "catalogue"),
    ("edition no one has", {"catalogue": "2031.01"}, "catalogue-edition-unknown", "catalogue"),
    ("unquoted version", {"cluster.kubernetesVersion": 1.36}, "spec-value-inconsistent", "cluster"),
    ("patch version", {"cluster.kubernetesVersion": "1.36.2"}, "spec-value-malformed", "cluster"),
    ("wrong enum", {"pools[0].intent": "train"}, "spec-value-unknown", "pools[0].intent"),
    # numbers and units
    ("min over max", {"pools[0].nodes": {"min": 3, "max": 1}}, "spec-value-inconsistent", "nodes"),
    ("max zero", {"pools[0].nodes.max": 0}, "spec-value-out-of-range", "pools[0].nodes.max"),
    ("negative min", {"pools[0].nodes.min": -1}, "spec-value-out-of-range", "pools[0].nodes.min"),
    ("fractional max", {"pools[0].nodes.max": 1.5}, "spec-value-wrong-type", "pools[0].nodes.max"),
    ("max as words", {"pools[0].nodes.max": "ten"}, "spec-value-wrong-type", "pools[0].nodes.max"),
    ("max with unit", {"pools[0].nodes.max": "4 nodes"}, "spec-value-wrong-type", "nodes.max"),
    ("no max", {"pools[0].nodes": {"min": 0}}, "spec-key-missing", "pools[0].nodes.max"),
    ("expected outside", {"pools[0].nodes.expected": 9}, "spec-value-inconsistent", "nodes"),
    ("disk with unit", {"pools[0].disk": {"sizeGib": "200Gi"}}, "spec-value-wrong-type", "sizeGib"),
    ("tiny disk", {"pools[0].disk": {"sizeGib": 20}}, "spec-value-out-of-range", "disk.sizeGib"),
    ("budget zero", {"budget": {"usdPerHour": 0}}, "spec-value-out-of-range", "budget.usdPerHour"),
    ("budget infinite", {"budget": {"usdPerHour": float("inf")}}, "spec-value", "budget"),
    (
        "budget too small",
        {"budget": {"usdPerHour": 1}, "pools[0].nodes": {"min": 1, "max": 4}},
        "budget-exceeded",
        "budget.usdPerHour",
    ),
    (
        "one replica",
        {"pools[0].sharing": {"timeSlicing": {"replicas": 1}}},
        "spec-value-out-of-range",
        "pools[0].sharing.timeSlicing.replicas",
    ),
    (
        "sixty MPS clients",
        {"pools[0].sharing": {"mps": {"replicas": 61}}},
        "mps",
        "pools[0].sharing.mps.replicas",
    ),
    # names
    ("capital name", {"pools[0].name": "Chat"}, "spec-value-malformed", "pools[0].name"),
    ("underscore name", {"pools[0].name": "my_pool"}, "spec-value-malformed", "pools[0].name"),
    ("leading digit", {"pools[0].name": "1chat"}, "spec-value-malformed", "pools[0].name"),
    ("trailing hyphen", {"pools[0].name": "chat-"}, "spec-value-malformed", "pools[0].name"),
    ("long name", {"pools[0].name": "c" * 41}, "spec-length-out-of-range", "pools[0].name"),
    ("empty name", {"pools[0].name": ""}, "spec-", "pools[0].name"),
    ("emoji name", {"pools[0].name": "chät🚀"}, "spec-value-malformed", "pools[0].name"),
    ("same name twice", {"pools[1].name": "chat"}, "pool-name-twice", "pools[1].name"),
    (
        "label value with plus",
        {"pools[0].labels": {"a": "1g.5gb+me"}},
        "spec-value-malformed",
        "pools[0].labels",
    ),
    ("label key with space", {"pools[0].labels": {"a b": "c"}}, "spec-value-malformed", "labels"),
    (
        "reserved label",
        {"pools[0].labels": {"nvidia.com/gpu.present": "true"}},
        "label-reserved",
        "pools[0].labels",
    ),
    (
        "our own taint",
        {"pools[0].taints": [{"key": "nvidia.com/gpu"}]},
        "taint-twice",
        "pools[0].taints[0]",
    ),
    (
        "cloud spelling of effect",
        {"pools[0].taints": [{"key": "a", "effect": "NO_SCHEDULE"}]},
        "spec-value-unknown",
        "pools[0].taints[0].effect",
    ),
    # hardware
    ("GPU no one makes", {"pools[0].gpu": "L5"}, "gpu-unknown", "pools[0].gpu"),
    ("GPU not on platform", {"pools[0].gpu": "A30-24GB"}, "gpu-not-on-platform", "pools[0].gpu"),
    ("no hardware", {"pools[0].gpu": REMOVE}, "pool-hardware-missing", "pools[0]"),
    (
        "type no one sells",
        {"pools[1].instanceTypes": ["p5.24xlarge"]},
        "instance-type-unknown",
        "pools[1].instanceTypes[0]",
    ),
    (
        "type of another cloud",
        {"pools[1].instanceTypes": ["a2-ultragpu-8g"]},
        "instance-type-not-on-platform",
        "pools[1].instanceTypes[0]",
    ),
    (
        "types that differ",
        {"pools[1].instanceTypes": ["p4de.24xlarge", "p5.48xlarge"]},
        "instance-types-differ",
        "pools[1].instanceTypes",
    ),
    (
        "type twice",
        {"pools[1].instanceTypes": ["p4de.24xlarge", "p4de.24xlarge"]},
        "instance-type-twice",
        "pools[1].instanceTypes[1]",
    ),
    (
        "GPU and type disagree",
        {"pools[1].gpu": "L4"},
        "gpu-and-instance-type-disagree",
        "pools[1].gpu",
    ),
    (
        "count no one offers",
        {"pools[0].gpusPerNode": 3},
        "gpus-per-node-not-offered",
        "pools[0].gpusPerNode",
    ),
    (
        "Gaudi",
        {"pools[0].gpu": REMOVE, "pools[0].instanceTypes": ["dl1.24xlarge"]},
        "accelerator-not-yet-supported",
        "pools[0]",
    ),
    (
        "image of another cloud",
        {"pools[0].image": "cos"},
        "image-not-on-platform",
        "pools[0].image",
    ),
    ("no region", {"cluster.region": REMOVE}, "region-missing", "cluster.region"),
    (
        "fabric of another cloud",
        {"pools[1].fabric": "tcpxo"},
        "fabric-not-on-platform",
        "pools[1].fabric",
    ),
    ("no such interface", {"pools[0].fabric": "efa"}, "fabric-not-on-machine", "pools[0].fabric"),
    ("options of another cloud", {"pools[0].gke": {}}, "options-of-other-platform", "pools[0].gke"),
)
