"""Karpenter as the provisioner: its purchase options, static pools, prices, raw fields.

Expected values: definitions karpenter.sh/v1 and karpenter.k8s.aws/v1 (v1.14.1), and
aws/karpenter-provider-aws v1.14 `concepts/nodepools`, `concepts/nodeclasses`, `tasks/odcrs`.
"""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from gpufleet.catalogue.edition import read_rows
from gpufleet.platforms import eks
from gpufleet.platforms.compiled import compile_data
from gpufleet.platforms.eks.karpenter_values import karpenter_values, needed_gates
from gpufleet.platforms.eks.registered import registered
from gpufleet.render.artefacts import artefacts
from tests.reading import yaml_documents

H100 = {"instanceTypes": ["p5.48xlarge"]}
L4 = {"gpu": "L4"}


def block(number: int, zone: str = "us-east-1a", **more: Any) -> dict[str, Any]:
    end = "2027-07-20T11:30:00Z"
    identifier = f"cr-{number:017x}"
    return {"capacityBlock": {"id": identifier, "zone": zone, "until": end, **more}}


def compiled(pool: dict[str, Any], at: datetime | None = None, **fleet: Any) -> Any:
    data = {
        "catalogue": "2026.11",
        "platform": "eks",
        "cluster": {"name": "ml", "region": "us-east-1"},
        "provisioner": "karpenter",
        "pools": [{"name": "p", "nodes": {"min": 0, "max": 4}, **pool}],
        **fleet,
    }
    return compile_data(data, at=at)


def codes(pool: dict[str, Any], **more: Any) -> dict[str, tuple[str, str]]:
    return {one.code: (one.severity, one.path) for one in compiled(pool, **more).findings}


def files(pool: dict[str, Any], **more: Any) -> dict[str, Any]:
    result = compiled(pool, **more)
    assert result.deployable, result.findings
    folder = "manifests/karpenter/"
    made = [one for one in artefacts(result.fleet) if one.path.startswith(folder)]
    read = {one.path.removeprefix(folder): [*yaml_documents(one.text)] for one in made}
    return {name: found[0] if len(found) == 1 else found for name, found in read.items()}


def requirement(node_pool: dict[str, Any], key: str) -> list[str]:
    (one,) = [r for r in node_pool["spec"]["template"]["spec"]["requirements"] if r["key"] == key]
    return one["values"]


def test_two_blocks_and_then_on_demand() -> None:
    """`karpenter.sh/capacity-type` reserved is of blocks and reservations; the node class selects
    each by id, and machines with EFA stay in the one zone of both blocks."""
    capacity = [block(1), block(2), {"onDemand": {}}]
    made = files({**H100, "fabric": "efa", "capacity": capacity})
    pool, of_class = made["node-pool-p.yaml"], made["node-class-p.yaml"]
    assert requirement(pool, "karpenter.sh/capacity-type") == ["on-demand", "reserved"]
    assert requirement(pool, "topology.kubernetes.io/zone") == ["us-east-1a"]
    assert of_class["spec"]["capacityReservationSelectorTerms"] == [
        {"id": "cr-00000000000000001"},
        {"id": "cr-00000000000000002"},
    ]


def test_blocks_of_two_zones_are_one_pool_without_efa_and_not_with_it() -> None:
    capacity = [block(1), block(2, "us-east-1b")]
    made = files({**H100, "capacity": capacity})["node-pool-p.yaml"]
    assert requirement(made, "topology.kubernetes.io/zone") == ["us-east-1a", "us-east-1b"]
    assert "zones-too-many" in codes({**H100, "fabric": "efa", "capacity": capacity})


@pytest.mark.parametrize("intent", ["training", "interactive"])
def test_an_interruptible_reservation_is_taken_back_as_spot_is(intent: str) -> None:
    """aws/karpenter-provider-aws v1.14.3 `pkg/providers/instance/filter/filter.go`."""
    entry = {"id": "cr-0123456789abcdef0", "zone": "us-east-1a", "interruptible": True}
    pool = {**H100, "intent": intent, "capacity": [{"reserved": entry}]}
    assert codes(pool)[f"spot-for-{intent}"][0] == "warning"
    terms = files(pool)["node-class-p.yaml"]["spec"]["capacityReservationSelectorTerms"]
    assert terms == [{"id": "cr-0123456789abcdef0"}]
    refused = codes({**pool, "provisioner": "managed"})["reservation-interruptible"]
    assert refused == ("error", "pools[0].capacity[0].reserved.interruptible")


def test_a_node_group_takes_one_block() -> None:
    group = {**H100, "provisioner": "managed"}
    assert "capacity-not-combinable" in codes({**group, "capacity": [block(1), {"onDemand": {}}]})
    assert "capacity-twice" in codes({**group, "capacity": [block(1), block(2)]})


@pytest.mark.parametrize("provisioner", ["karpenter", "autoMode"])
def test_an_order_that_karpenter_does_not_keep_is_refused(provisioner: str) -> None:
    pool = {**L4, "provisioner": provisioner, "capacity": [{"onDemand": {}}, {"spot": {}}]}
    assert codes(pool)["karpenter-order-of-capacity"] == ("error", "pools[0].capacity")
    kept = {**pool, "capacity": [{"spot": {}}, {"onDemand": {}}]}
    assert "karpenter-order-of-capacity" not in codes(kept)


def test_reservations_are_found_by_what_they_have() -> None:
    """Each term has an id, tags or a match criterion (CEL rules of the field)."""
    selectors = [{"tags": {"team": "a"}, "ownerId": "123456789012"}, {"match": "open"}]
    made = files({**L4, "karpenter": {"reservations": selectors}})
    assert made["node-class-p.yaml"]["spec"]["capacityReservationSelectorTerms"] == [
        {"tags": {"team": "a"}, "ownerID": "123456789012"},
        {"instanceMatchCriteria": "open"},
    ]
    bought = requirement(made["node-pool-p.yaml"], "karpenter.sh/capacity-type")
    assert bought == ["on-demand", "reserved"]
    (wrong,) = compiled(
        {**L4, "karpenter": {"reservations": [{"ownerId": "123456789012"}]}}
    ).findings
    assert "neither tags nor match" in wrong.message


def test_a_static_pool_keeps_its_nodes() -> None:
    """`replicas` excludes a weight and all limits but nodes (CEL rules of NodePool), behind the
    gate StaticCapacity."""
    static = {**L4, "nodes": {"min": 2, "max": 4}, "karpenter": {"static": True}}
    spec = files(static)["node-pool-p.yaml"]["spec"]
    assert (spec["replicas"], spec["limits"]) == (2, {"nodes": "4"})
    result = compiled(static)
    assert "karpenter-keeps-no-minimum" not in [one.code for one in result.findings]
    gates = karpenter_values(needed_gates(result.fleet.pools))["settings"]["featureGates"]
    assert gates["staticCapacity"] is True
    other = compiled({**L4, "nodes": {"min": 2, "max": 4}})
    assert (
        "staticCapacity"
        not in karpenter_values(needed_gates(other.fleet.pools))["settings"]["featureGates"]
    )
    names = [files(one)["node-pool-p.yaml"]["metadata"]["name"] for one in (static, L4)]
    assert names == ["gpufleet-p-static", "gpufleet-p"]
    existing: dict[str, Any] = {
        "addons": {"karpenter": {"ownership": "existing", "nodeOverlay": True}}
    }
    assert "karpenter-static-gate" in [one.code for one in compiled(static, **existing).findings]


NEWER: dict[str, Any] = {
    "addons": {"karpenter": {"version": "1.15.2", "upgradeDefinitions": True}},
    "cluster": {"name": "ml", "region": "us-east-1", "kubernetesVersion": "1.35"},
}


@pytest.mark.parametrize(
    ("pool", "fleet", "refused"),
    [
        ({"sharing": {"dra": {}}}, {}, "1.14.1 ignores pods"),
        ({"sharing": {"dra": {}}, "karpenter": {"static": True}}, {}, ""),
        ({"sharing": {"dra": {}}}, NEWER, ""),
        ({"sharing": {"dra": {"devices": "mig"}}}, NEWER, "only for claims of whole GPUs"),
        (
            {"sharing": {"dra": {"devices": "mig"}}, "karpenter": {"static": True}},
            {"cluster": {**NEWER["cluster"], "kubernetesVersion": "1.36"}},
            "",
        ),
    ],
)
def test_claims_as_far_as_the_release_goes(pool: Any, fleet: Any, refused: str) -> None:
    """Amazon EKS user guide, "Using DRA with Karpenter": static capacity, and dynamic from 1.15 on
    behind gates; `pkg/providers/nvidiadra` of v1.15.2 has one device for each GPU, `gpu-0`."""
    result = compiled({**H100, "nodes": {"min": 1, "max": 2}, **pool}, **fleet)
    found = [one.message for one in result.findings if one.code == "dra-with-karpenter"]
    assert bool(found) == bool(refused)
    assert all(refused in message for message in found)
    if not refused:
        assert [one for one in result.findings if one.severity == "error"] == []
        gates = karpenter_values(needed_gates(result.fleet.pools))["settings"]
        dynamic = "karpenter" not in pool
        assert gates.get("awsFeatureGates") == ({"draNVIDIAGPU": True} if dynamic else None)


def test_what_claims_and_buffers_need_besides() -> None:
    """karpenter.sh, tasks/dra: Kubernetes 1.34; values of the chart, `enableDRA`; CapacityBuffer
    came with 1.14."""
    claims = {**H100, "sharing": {"dra": {}}}
    older = {**NEWER, "cluster": {**NEWER["cluster"], "kubernetesVersion": "1.33"}}
    assert codes(claims, **older)["dra-with-karpenter"] == ("error", "pools[0].sharing.dra")
    addon = {**NEWER["addons"]["karpenter"], "values": {"settings": {"enableDRA": True}}}
    both = codes(claims, **{**NEWER, "addons": {"karpenter": addon}})
    assert both["dra-with-karpenter"][1] == "addons.karpenter.values.settings.enableDRA"
    free = {**L4, "nodes": {"min": 1, "max": 2}, "karpenter": {"buffer": True}}
    old: dict[str, Any] = {"addons": {"karpenter": {"version": "1.13.0"}}}
    assert codes(free, **old)["karpenter-buffer-of-nothing"][1] == "pools[0].karpenter.buffer"
    assert "karpenter-buffer-of-nothing" not in codes(free)


def test_shared_claims_are_announced_to_karpenter() -> None:
    dra = {"sharing": {"dra": {"consumableShares": "memory"}}}
    newer = {**NEWER, "cluster": {**NEWER["cluster"], "kubernetesVersion": "1.36"}}
    metadata = files({**H100, **dra}, **newer)["node-class-p.yaml"]["metadata"]
    key = "karpenter.k8s.aws/nvidia-consumable-capacity"
    assert metadata["annotations"] == {key: "memory"}
    assert "annotations" not in files(H100)["node-class-p.yaml"]["metadata"]
    exists = {**NEWER, "addons": {"karpenter": {"ownership": "existing", "version": "1.15.2"}}}
    assert "karpenter-claims-gate" in codes({**H100, "sharing": {"dra": {}}}, **exists)


def test_a_buffer_keeps_nodes_free() -> None:
    """autoscaling.x-k8s.io/v1beta1 of sigs.k8s.io/karpenter v1.14.1: a PodTemplate of the same
    namespace and `replicas`, behind the gate CapacityBuffer. One piece is a whole node."""
    base = {"instanceTypes": ["g6.12xlarge"], "nodes": {"min": 2, "max": 4}}
    free = {**base, "karpenter": {"buffer": True}}
    template, buffer = files(free)["capacity-buffer-p.yaml"]
    (container,) = template["template"]["spec"]["containers"]
    # The API server fills in requests of pods, not of templates (seen under Karpenter's core).
    asked = {"nvidia.com/gpu": "4"}
    assert container["resources"] == {"requests": asked, "limits": asked}
    assert template["template"]["spec"]["nodeSelector"] == {"gpufleet.dev/pool": "p"}
    assert template["metadata"] == buffer["metadata"]
    assert buffer["spec"] == {"podTemplateRef": {"name": "gpufleet-p"}, "replicas": 2}
    result = compiled(free)
    assert "karpenter-keeps-no-minimum" not in [one.code for one in result.findings]
    gates = karpenter_values(needed_gates(result.fleet.pools))["settings"]["featureGates"]
    assert gates["capacityBuffer"] is True
    existing: dict[str, Any] = {
        "addons": {"karpenter": {"ownership": "existing", "nodeOverlay": True}}
    }
    assert "karpenter-buffer-gate" in [one.code for one in compiled(free, **existing).findings]
    none = codes({**free, "nodes": {"min": 0, "max": 4}})
    assert none["karpenter-buffer-of-nothing"] == ("error", "pools[0].nodes.min")
    both = compiled({**base, "karpenter": {"buffer": True, "static": True}}).findings
    assert "a static pool adds no nodes" in both[0].message


@pytest.mark.parametrize(
    ("options", "code", "path"),
    [
        ({"weight": 3}, "karpenter-static-weight", "karpenter.weight"),
        (
            {"disruption": {"consolidateAfter": "1m"}},
            "karpenter-static-consolidation",
            "karpenter.disruption",
        ),
    ],
)
def test_what_a_static_pool_has_no_use_for(options: Any, code: str, path: str) -> None:
    pool = {**L4, "nodes": {"min": 1, "max": 4}, "karpenter": {"static": True, **options}}
    assert codes(pool)[code] == ("error", f"pools[0].{path}")


def test_a_price_is_an_overlay_of_whole_gpus_too() -> None:
    made = files({**L4, "karpenter": {"priceAdjustment": "-15%"}})
    spec = made["node-overlay-p.yaml"]["spec"]
    assert spec["priceAdjustment"] == "-15%"
    assert "capacity" not in spec
    off: dict[str, Any] = {"addons": {"karpenter": {"ownership": "existing"}}}
    found = compiled({**L4, "karpenter": {"priceAdjustment": "-15%"}}, **off).findings
    assert "karpenter-price-without-overlay" in [one.code for one in found]


def test_raw_fields_are_merged_last() -> None:
    raw = {
        "nodePool": {"template": {"metadata": {"annotations": {"a": "b"}}}},
        "nodeClass": {"detailedMonitoring": True, "kubelet": {"maxPods": 58}},
    }
    made = files({**L4, "karpenter": raw})
    template = made["node-pool-p.yaml"]["spec"]["template"]
    assert template["metadata"]["annotations"] == {"a": "b"}
    assert template["metadata"]["labels"]["gpufleet.dev/pool"] == "p"
    of_class = made["node-class-p.yaml"]["spec"]
    assert (of_class["detailedMonitoring"], of_class["kubelet"]) == (True, {"maxPods": 58})


def test_dedicated_tenancy_is_a_requirement() -> None:
    """aws/karpenter-provider-aws v1.14.3 `pkg/controllers/nodeclass/validation.go` getTenancyType
    reads the requirement; the EC2NodeClass has no such field."""
    key = "karpenter.k8s.aws/instance-tenancy"
    wanted = {"key": key, "operator": "In", "values": ["dedicated"]}
    made = files({**L4, "karpenter": {"requirements": [wanted]}})
    assert requirement(made["node-pool-p.yaml"], key) == ["dedicated"]
    found = compiled({**L4, "eks": {"launchTemplate": {"placement": {"tenancy": "dedicated"}}}})
    (one,) = [one for one in found.findings if one.code == "karpenter-decides"]
    assert key in one.message


@pytest.mark.parametrize(
    ("raw", "code", "path"),
    [
        ({"nodeClass": {"tenancy": "dedicated"}}, "karpenter-object-refused", "nodeClass.tenancy"),
        (
            {"nodeClass": {"kubelet": {"maxPods": -1}}},
            "karpenter-object-refused",
            "nodeClass.kubelet.maxPods",
        ),
        (
            {"nodeClass": {"metadataOptions": {"httpPutResponseHopLimit": 65}}},
            "karpenter-object-refused",
            "nodeClass.metadataOptions.httpPutResponseHopLimit",
        ),
        (
            {"nodeClass": {"kubelet": {"evictionHard": {"memory.free": "5%"}}}},
            "karpenter-object-refused",
            "nodeClass.kubelet.evictionHard",
        ),
        (
            {"nodeClass": {"kubelet": {"evictionSoft": {"memory.available": "5%"}}}},
            "karpenter-object-refused",
            "nodeClass.kubelet",
        ),
        (
            {"nodeClass": {"blockDeviceMappings": [{"deviceName": "/dev/xvda", "ebs": {}}]}},
            "karpenter-object-refused",
            "nodeClass.blockDeviceMappings[0].ebs",
        ),
        ({"nodePool": {"replicas": 3}}, "raw-argument-decided", "nodePool.replicas"),
        ({"nodeClass": {"role": "mine"}}, "raw-argument-wired", "nodeClass.role"),
        (
            {"nodePool": {"template": {"spec": {"taints": []}}}},
            "raw-argument-decided",
            "nodePool.template.spec.taints",
        ),
    ],
)
def test_raw_fields_that_are_refused(raw: Any, code: str, path: str) -> None:
    assert codes({**L4, "karpenter": raw})[code] == ("error", f"pools[0].karpenter.{path}")


WITHOUT_EFFECT = {
    (row["provisioner"], row["section"], row["option"])
    for row in read_rows(Path(eks.__file__).parent, "provisioner_options")
}
VALUES: dict[str, dict[str, Any]] = {
    "eks": {
        "release_version": "1.36.0-20261101",
        "ami_id": "ami-0123456789abcdef0",
        "placement_group": True,
        "update": {"maxUnavailable": 2},
        "metadata_hop_limit": 2,
        "kms_key_arn": "arn:aws:kms:us-east-1:123456789012:key/0a1b2c3d",
        "fast_image_pull": True,
        "imported": "manage",
        "node_group": {"forceUpdateVersion": True},
        "launch_template": {"keyName": "k"},
    },
    "karpenter": {"placement_group": "mine", "price_adjustment": "-1%", "buffer": True},
}


def _camel(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(part.title() for part in rest)


@pytest.mark.parametrize("provisioner", ["managed", "karpenter", "autoMode", "clusterAutoscaler"])
def test_an_option_has_an_effect_or_is_refused(provisioner: str) -> None:
    """The table from both sides: what it names is refused, everything else changes a file."""
    nodes = {"min": 1, "max": 4}
    base = {"instanceTypes": ["g6.12xlarge"], "provisioner": provisioner, "nodes": nodes}
    plain = _all(base)
    for section, values in VALUES.items():
        for name, value in values.items():
            if section == "karpenter" and provisioner in {"managed", "clusterAutoscaler"}:
                continue  # the whole section is refused
            if name == "imported" and provisioner in {"managed", "clusterAutoscaler"}:
                continue  # only with importId
            option = {**base, section: {_camel(name): value}}
            result = compiled(option)
            refused = [
                one.path
                for one in result.findings
                if one.severity == "error" and one.path.startswith(f"pools[0].{section}.")
            ]
            without_effect = (provisioner, section, name) in WITHOUT_EFFECT
            assert bool(refused) == without_effect, (provisioner, name, refused)
            if not refused:
                assert _all(option) != plain, f"{section}.{name} changes nothing"


def _all(pool: dict[str, Any]) -> Any:
    result = compiled(pool)
    assert result.deployable, result.findings
    made = registered(result.fleet, result.fleet.pools[0])
    return {one.path: one.text for one in artefacts(result.fleet)}, made


def test_a_block_warns_of_the_smallest_size_only_before_it_begins() -> None:
    pool = {
        **H100,
        "provisioner": "managed",
        "nodes": {"min": 1, "max": 4},
        "capacity": [block(1, starts="2027-07-10T11:30:00Z")],
    }
    code = "capacity-block-min-nodes"
    assert code in codes(pool)
    assert code in codes(pool, at=datetime(2027, 7, 9, tzinfo=UTC))
    assert code not in codes(pool, at=datetime(2027, 7, 11, tzinfo=UTC))
