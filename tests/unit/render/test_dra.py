"""Claims in place of plugin resources: classes, templates, shared claims, driver values."""

import json
from typing import Any

import pytest

from gpufleet.contract.schemas.validator import schema_problems
from gpufleet.fleet.model import Fleet
from gpufleet.platforms.compiled import compile_data
from gpufleet.render.dra import (
    claim_name,
    claims,
    compute_domains,
    device_classes,
    pod_claim,
)
from gpufleet.render.dra_driver_values import (
    dra_driver_values,
    needs_dra_driver,
)
from gpufleet_sandbox.operands.dra_claims import ClaimError, check_claim
from gpufleet_sandbox.operands.dra_driver import read_dra_driver

LAYOUTS = [{"devices": {"3g.40gb": 2}}]


def fleet(*ways: dict[str, Any], **more: Any) -> Fleet:
    pools = [
        {
            "name": f"pool-{i}",
            "gpu": "H100-80GB",
            "nodes": {"min": 1, "max": 2},
            "sharing": {"dra": {"namespaces": ["research"], **way}},
            **more,
        }
        for i, way in enumerate(ways)
    ]
    pools.append({"name": "plain", "gpu": "L4", "nodes": {"min": 1, "max": 1}})
    spec = {
        "catalogue": "2026.11",
        "platform": "eks",
        "cluster": {"name": "c", "region": "us-east-1"},
        "pools": pools,
    }
    result = compile_data(spec)
    assert result.fleet is not None
    assert result.deployable, result.findings
    return result.fleet


SHARED: list[dict[str, Any]] = [
    {"sharing": "timeSlicing"},
    {"sharing": "timeSlicing", "interval": "Short", "clients": 4},
    {"sharing": "mps", "clients": 5},
    {"devices": "mig", "sharing": "timeSlicing"},
    {"devices": "mig", "sharing": "mps", "layouts": LAYOUTS},
]


def test_each_device_of_a_pool_has_its_claim() -> None:
    one = fleet(
        {"devices": "mig", "layouts": LAYOUTS}, {"devices": "mig", "sharing": "timeSlicing"}
    )
    made = {(m["kind"], m["metadata"]["namespace"], m["metadata"]["name"]) for m in claims(one)}
    assert ("ResourceClaimTemplate", "research", "pool-0-mig-3g-40gb") in made
    offered: set[tuple[str, str, str]] = set()
    for pool in one.pools:
        dra = pool.partition.dra
        if dra is None:
            continue
        kind, suffix = ("ResourceClaim", "-0") if dra.clients > 1 else ("ResourceClaimTemplate", "")
        offered |= {
            (kind, namespace, claim_name(pool, offer) + suffix)
            for offer in dra.offers
            for namespace in dra.namespaces
        }
    assert offered
    assert offered <= made


def test_a_class_selects_its_profile_and_carries_its_name_only_when_asked() -> None:
    (plain,) = device_classes(fleet({"devices": "mig", "layouts": LAYOUTS}))
    assert plain["spec"] == {
        "selectors": [
            {
                "cel": {
                    "expression": "device.driver == 'gpu.nvidia.com' && "
                    "device.attributes['gpu.nvidia.com'].type == 'mig' && "
                    "device.attributes['gpu.nvidia.com'].profile == '3g.40gb'"
                }
            }
        ]
    }
    # The class applies to the cluster: one pool that enables it is enough, in any order.
    ways = [{"devices": "mig", "layouts": LAYOUTS}, {"devices": "mig", "extendedResource": True}]
    for order in (ways, ways[::-1]):
        named = {c["spec"].get("extendedResourceName") for c in device_classes(fleet(*order))}
        assert None not in named
        assert "nvidia.com/mig-3g.40gb" in named


def test_no_class_takes_over_the_name_of_whole_gpus() -> None:
    assert device_classes(fleet({"extendedResource": True})) == []


def test_a_template_names_boards_of_the_pools_gpu() -> None:
    (template,) = claims(fleet({}))
    (request,) = template["spec"]["spec"]["devices"]["requests"]
    (selector,) = request["exactly"]["selectors"]
    assert '"NVIDIA H100 80GB HBM3"' in selector["cel"]["expression"]
    assert request["exactly"]["count"] == 1
    assert "config" not in template["spec"]["spec"]["devices"]


@pytest.mark.parametrize(
    ("way", "expected"),
    [
        ({}, None),
        ({"sharing": "timeSlicing"}, {"strategy": "TimeSlicing"}),
        (
            {"sharing": "timeSlicing", "interval": "Long"},
            {"strategy": "TimeSlicing", "timeSlicingConfig": {"interval": "Long"}},
        ),
        (
            {"sharing": "mps", "clients": 4},
            {
                "strategy": "MPS",
                "mpsConfig": {
                    "defaultActiveThreadPercentage": 25,
                    "defaultPinnedDeviceMemoryLimit": "20389Mi",
                },
            },
        ),
    ],
)
def test_configs(way: dict[str, Any], expected: dict[str, Any] | None) -> None:
    spec = claims(fleet(way))[0]["spec"]
    found = spec.get("spec", spec)["devices"].get("config")
    assert (found and found[0]["opaque"]["parameters"]["sharing"]) == expected


def driver_of(one: Fleet) -> Any:
    """Devices of the simulated driver with these values: an independent reading."""
    values = dra_driver_values(one)
    labels = {
        "app.kubernetes.io/name": "dra-driver-nvidia-gpu",
        "app.kubernetes.io/component": "simulated-kubelet-plugin",
    }
    data = {"values.json": json.dumps(values)}
    found = read_dra_driver([{"metadata": {"labels": labels}, "data": data}])
    assert found is not None
    return found


def allocated(claim: dict[str, Any]) -> dict[str, Any]:
    mig = "mig" in claim["spec"]["devices"]["requests"][0]["exactly"]["deviceClassName"]
    device = "gpu-0-mig-3g40gb-9-0" if mig else "gpu-0"
    result = {"driver": "gpu.nvidia.com", "pool": "n", "device": device, "request": "gpu"}
    devices = {"results": [result], "config": claim["spec"]["devices"]["config"]}
    return {"status": {"allocation": {"devices": devices}}}


@pytest.mark.parametrize("way", SHARED, ids=str)
def test_the_driver_prepares_what_was_rendered_for_it(way: dict[str, Any]) -> None:
    one = fleet(way)
    driver = driver_of(one)
    assert driver.crash is None
    shared = [claim for claim in claims(one) if claim["kind"] == "ResourceClaim"]
    assert shared
    for claim in shared:
        check_claim(allocated(claim), "n", driver.gates)
        with pytest.raises(ClaimError, match="sharing strategy"):
            check_claim(allocated(claim), "n", dict.fromkeys(driver.gates, False))


def test_shared_claims_are_as_many_as_devices() -> None:
    one = fleet({"sharing": "timeSlicing", "clients": 8}, gpusPerNode=8)
    names = [claim["metadata"]["name"] for claim in claims(one)]
    assert names == [f"pool-0-gpu-{i}" for i in range(8)]


def test_a_pod_names_the_template_or_the_shared_claim() -> None:
    for way, reference in (
        ({}, {"resourceClaimTemplateName": "pool-0-gpu"}),
        ({"sharing": "timeSlicing"}, {"resourceClaimName": "pool-0-gpu-0"}),
    ):
        pool = fleet(way).pools[0]
        assert pool.partition.dra is not None
        snippet = pod_claim(pool, pool.partition.dra.offers[0])
        assert snippet == {
            "resourceClaims": [{"name": "gpu", **reference}],
            "resources": {"claims": [{"name": "gpu"}]},
        }


def test_values_follow_the_pools() -> None:
    taint = {"key": "team", "value": "a", "effect": "NoSchedule"}
    one = fleet(
        {"devices": "mig"},
        taints=[taint],
        image="ubuntu-eks",
        eks={"amiId": "ami-0123456789abcdef0"},
    )
    values = dra_driver_values(one)
    assert values["nvidiaDriverRoot"] == "/run/nvidia/driver"
    assert values["featureGates"] == {"DynamicMIG": True}
    assert values["kubeletPlugin"]["tolerations"] == [
        {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"},
        {"key": "team", "operator": "Equal", "value": "a", "effect": "NoSchedule"},
    ]
    driver = driver_of(one)
    pool = one.pools[0]
    assert driver.runs_on(pool.labels)
    assert not driver.runs_on(one.pool("plain").labels)
    taints = [{"key": t.key, "value": t.value, "effect": t.effect} for t in pool.taints]
    assert driver.untolerated(taints) is None


def test_with_layouts_it_starts_when_mig_manager_is_done() -> None:
    """It reads its devices once, and nothing restarts it (kubernetes-sigs/dra-driver-nvidia-gpu
    1191eaa `driver.go`; NVIDIA/mig-parted `reconfigure.go` names the states)."""
    one = fleet({"devices": "mig", "layouts": LAYOUTS}, {})
    driver, born = driver_of(one), one.pools[0].labels
    state = "nvidia.com/mig.config.state"
    assert "nvidia.com/mig.config" in born
    assert not driver.runs_on(born)
    for passing in ("pending", "rebooting", "failed"):
        assert not driver.runs_on({**born, state: passing})
    assert driver.runs_on({**born, state: "success"})
    assert driver.runs_on(one.pools[1].labels)
    for other in (fleet({"devices": "mig"}), fleet({})):
        plugin = dra_driver_values(other)["kubeletPlugin"]
        assert "affinity" not in plugin


def test_needed_only_with_claims_unless_said() -> None:
    assert needs_dra_driver(fleet({}))
    assert not needs_dra_driver(fleet())


def test_a_compute_domain_is_one_that_its_definition_takes() -> None:
    """The definition is the driver's own (catalogue, schemas/resource.nvidia.com.json)."""
    one = fleet({"computeDomain": True, "namespaces": ["research", "lab"]}, {})
    made = compute_domains(one)
    assert [(m["metadata"]["namespace"], m["metadata"]["name"]) for m in made] == [
        ("research", "pool-0-domain"),
        ("lab", "pool-0-domain"),
    ]
    assert [problem for m in made for problem in schema_problems(m)] == []
    broken = made[0] | {"spec": {"numNodes": 0}}
    assert list(schema_problems(broken)), "the definition asks for a channel"
    values = dra_driver_values(one)
    assert values["resources"]["computeDomains"] == {"enabled": True}
    pool = one.pool("pool-0")
    assert pool.partition.dra is not None
    asked = pod_claim(pool, pool.partition.dra.offers[0])
    template = made[0]["spec"]["channel"]["resourceClaimTemplate"]["name"]
    assert {"name": "channel", "resourceClaimTemplateName": template} in asked["resourceClaims"]
    assert asked["resources"]["claims"] == [{"name": "gpu"}, {"name": "channel"}]


def test_without_a_compute_domain_the_driver_serves_none() -> None:
    one = fleet({})
    assert compute_domains(one) == []
    assert not dra_driver_values(one)["resources"]["computeDomains"]["enabled"]


@pytest.mark.parametrize(
    ("types", "namespaces", "codes"),
    [
        # NVLink of a P6e UltraServer reaches its other machines, that of a P5 does not.
        (["p6e-gb200.36xlarge"], ["lab"], set()),
        (["p5.48xlarge"], ["lab"], {"dra-compute-domain-alone"}),
        (["p6e-gb200.36xlarge"], [], {"dra-compute-domain-nowhere"}),
    ],
)
def test_domains_are_of_machines_that_share_nvlink(
    types: list[str], namespaces: list[str], codes: set[str]
) -> None:
    pool = {
        "name": "p",
        "instanceTypes": types,
        "nodes": {"min": 1, "max": 1},
        "sharing": {"dra": {"computeDomain": True, "namespaces": namespaces}},
    }
    cluster = {"name": "c", "region": "us-east-1"}
    spec = {"catalogue": "2026.11", "platform": "eks", "cluster": cluster, "pools": [pool]}
    found = {f.code for f in compile_data(spec).findings}
    assert {code for code in found if code.startswith("dra-compute-domain")} == codes


def test_a_cut_over_has_the_domain_from_its_first_step_to_its_last() -> None:
    domain = {"dra": {"computeDomain": True, "namespaces": ["lab"]}}
    for new, old in ((domain, {"exclusive": {}}), ({"exclusive": {}}, domain)):
        pool = {
            "name": "p",
            "gpu": "A100-80GB",
            "nodes": {"min": 2, "max": 2},
            "sharing": new,
            "change": {"previous": old},
        }
        spec = {"catalogue": "2026.11", "platform": "sandbox", "pools": [pool]}
        result = compile_data(spec | {"cluster": {"name": "c"}})
        assert result.fleet is not None
        assert [m["metadata"]["name"] for m in compute_domains(result.fleet)] == ["p-domain"]
