"""Claims by what they need: the selectors choose those devices of the simulated driver that
arithmetic chooses, and the driver takes their configurations."""

import json
from typing import Any

import cel
import pytest

from gpufleet.contract.programs.dra_cel_functions import functions
from gpufleet.contract.schemas.validator import schema_problems
from gpufleet.documents.quantities import quantity
from gpufleet.fleet.kueue_quota import MIG_MEMORY, class_mappings
from gpufleet.fleet.model import Fleet
from gpufleet.platforms.compiled import compile_data
from gpufleet.render.dra import claims, compute_domains
from gpufleet.render.kueue_rules import validate_queues
from gpufleet.render.pod_request import claiming_pod_spec
from gpufleet_sandbox.operands.dra_claims import check_claim
from gpufleet_sandbox.operands.dra_driver import SimulatedDraDriver
from gpufleet_sandbox.operands.dra_slices import slices
from gpufleet_sandbox.operands.hardware import HARDWARE_ANNOTATION, read_hardware
from gpufleet_sandbox.operands.silicon import GpuState

HOPPER, AMPERE = "NVIDIA H100 80GB HBM3", "NVIDIA A100-SXM4-80GB"
GATES = {"DynamicMIG": True, "MPSSupport": False, "TimeSlicingSettings": True}
CLASS_TYPES = {"gpu.nvidia.com": "gpu", "mig.nvidia.com": "mig"}


def fleet(*needs: dict[str, Any], queues: bool = False, **dra: Any) -> Fleet:
    ultra = dra.pop("domain", False)
    block = {
        "id": "cr-0123456789abcdef0",
        "zone": "us-east-1a",
        "until": "2027-01-20T11:30:00Z",
        "usdPerHour": "9",
    }
    pool = {
        "name": "claims",
        "instanceTypes": ["p6e-gb200.36xlarge" if ultra else "p5.48xlarge"],
        "nodes": {"min": 2, "max": 2},
        "capacity": [{"capacityBlock": block} if ultra else {"onDemand": {}}],
        "sharing": {"dra": {"namespaces": ["lab"], "claims": list(needs), **dra}},
    }
    spec: dict[str, Any] = {
        "catalogue": "2026.11",
        "platform": "eks",
        "cluster": {"name": "c", "region": "us-east-1"},
        "pools": [pool],
    }
    if queues:
        spec["queues"] = {"teams": [{"name": "research", "namespaces": ["lab"], "share": 1}]}
    result = compile_data(spec)
    assert result.fleet is not None
    assert result.deployable, result.findings
    return result.fleet


def made(one: Fleet, name: str) -> dict[str, Any]:
    return next(m for m in claims(one) if m["metadata"]["name"] == name)


def devices(product: str, count: int = 1) -> list[dict[str, Any]]:
    gpus = [{"product": product, "memoryMiB": 81559, "count": count}]
    data = {"gpus": gpus, "cpu": "1", "memory": "1Gi", "driver": "595.91.07"}
    hardware = read_hardware({HARDWARE_ANNOTATION: json.dumps(data)})
    driver = SimulatedDraDriver(GATES, "/", {}, (), (), None)
    parts = slices("n", hardware, (GpuState(),) * count, driver, "595.91.07")
    return [device for part in parts for device in part.get("devices", [])]


def selected(claim: dict[str, Any], published: list[dict[str, Any]]) -> set[str]:
    """Names of the devices that the request of a claim selects, its class included."""
    devices_spec = claim["spec"].get("spec", claim["spec"])["devices"]
    exactly = devices_spec["requests"][0]["exactly"]
    (selector,) = exactly["selectors"]
    program = cel.compile(selector["cel"]["expression"])
    chosen: set[str] = set()
    for device in published:
        attributes = {k: next(iter(v.values())) for k, v in device["attributes"].items()}
        profile = attributes.get("profile", "")
        of_class = CLASS_TYPES.get(exactly["deviceClassName"]) == attributes["type"]
        if not of_class and exactly["deviceClassName"] != f"mig-{profile}.gpufleet.dev":
            continue
        capacity = {
            k: {"quantity": str(quantity(v["value"]))} for k, v in device["capacity"].items()
        }
        variable = {
            "driver": "gpu.nvidia.com",
            "attributes": {"gpu.nvidia.com": attributes},
            "capacity": {"gpu.nvidia.com": capacity},
        }
        if program.execute(cel.Context({"device": variable}, functions())):
            chosen.add(device["name"])
    return chosen


@pytest.mark.parametrize(
    ("need", "dra", "memory", "units", "kind"),
    [
        ({"memoryMib": 18000}, {"devices": "mig"}, 18000, 0, "mig"),
        ({"memoryMib": 40000, "multiprocessors": 61}, {"devices": "mig"}, 40000, 61, "mig"),
        ({"multiprocessors": 100}, {"devices": "mig"}, 0, 100, "mig"),
        ({"memoryMib": 60000, "devices": "gpu"}, {"devices": "mig"}, 60000, 0, "gpu"),
        ({"count": 4}, {}, 0, 0, "gpu"),
    ],
    ids=str,
)
def test_the_selector_chooses_what_arithmetic_chooses(
    need: dict[str, Any], dra: dict[str, Any], memory: int, units: int, kind: str
) -> None:
    claim = made(fleet({"name": "one", **need}, **dra), "claims-one")
    assert list(schema_problems(claim)) == []
    published = devices(HOPPER, 2)
    expected = {
        device["name"]
        for device in published
        if device["attributes"]["type"]["string"] == kind
        and (quantity(device["capacity"]["memory"]["value"]) or 0) >= memory * 2**20
        and int(device["capacity"].get("multiprocessors", {"value": 0})["value"]) >= units
    }
    assert expected
    assert selected(claim, published) == expected
    assert selected(claim, devices(AMPERE)) == set(), "boards of another GPU"


def test_a_profile_and_products() -> None:
    one = fleet(
        {"name": "slice", "profile": "2g.20gb"},
        {"name": "either", "products": ["H100-80GB", "A100-80GB"], "devices": "gpu"},
        devices="mig",
    )
    names = selected(made(one, "claims-slice"), devices(HOPPER))
    assert names
    assert all("-mig-2g20gb-" in name for name in names)
    either = made(one, "claims-either")
    assert selected(either, devices(HOPPER)) == {"gpu-0"}
    assert selected(either, devices(AMPERE)) == {"gpu-0"}
    assert selected(either, devices("NVIDIA L4")) == set()


def test_devices_under_one_root_and_a_channel() -> None:
    one = fleet(
        {"name": "pair", "count": 2, "samePcieRoot": True, "nvlink": "machine"},
        {"name": "job", "count": 4, "nvlink": "domain"},
        domain=True,
    )
    spec = made(one, "claims-pair")["spec"]["spec"]["devices"]
    assert spec["constraints"] == [
        {"requests": ["gpu"], "matchAttribute": "resource.kubernetes.io/pcieRoot"}
    ]
    (domain,) = compute_domains(one)
    channel = domain["spec"]["channel"]["resourceClaimTemplate"]["name"]
    pool = one.pools[0]
    dra = pool.partition.dra
    assert dra is not None
    asked = {need.asked.name: claiming_pod_spec(pool, need)["resourceClaims"] for need in dra.needs}
    assert asked["pair"] == [{"name": "gpu", "resourceClaimTemplateName": "claims-pair"}]
    assert asked["job"] == [
        {"name": "gpu", "resourceClaimTemplateName": "claims-job"},
        {"name": "channel", "resourceClaimTemplateName": channel},
    ]


@pytest.mark.parametrize(
    ("need", "dra", "expected", "device"),
    [
        (
            {"sharing": "mps", "clients": 3, "activeThreadPercentage": 50, "pinnedMemoryMib": 9000},
            {},
            {
                "strategy": "MPS",
                "mpsConfig": {
                    "defaultActiveThreadPercentage": 50,
                    "defaultPinnedDeviceMemoryLimit": "9000Mi",
                },
            },
            "gpu-0",
        ),
        (
            # By default for the smallest that meets the need: 20091 MiB of a 2g.20gb by two.
            {"sharing": "mps", "memoryMib": 10000},
            {"devices": "mig", "layouts": [{"devices": {"3g.40gb": 1, "2g.20gb": 1}}]},
            {
                "strategy": "MPS",
                "mpsConfig": {
                    "defaultActiveThreadPercentage": 50,
                    "defaultPinnedDeviceMemoryLimit": "10045Mi",
                },
            },
            "gpu-0-mig-2g20gb-14-4",
        ),
        (
            {"sharing": "timeSlicing", "interval": "Long", "clients": 4},
            {},
            {"strategy": "TimeSlicing", "timeSlicingConfig": {"interval": "Long"}},
            "gpu-0",
        ),
        (
            {"sharing": "timeSlicing", "profile": "3g.40gb"},
            {"devices": "mig"},
            {"strategy": "TimeSlicing"},
            "gpu-0-mig-3g40gb-9-0",
        ),
    ],
    ids=str,
)
def test_the_driver_takes_the_sharing_of_a_claim(
    need: dict[str, Any], dra: dict[str, Any], expected: dict[str, Any], device: str
) -> None:
    one = fleet({"name": "one", "sharedClaims": 2, **need}, **dra)
    names = {m["metadata"]["name"] for m in claims(one) if m["kind"] == "ResourceClaim"}
    assert names == {"claims-one-0", "claims-one-1"}
    claim = made(one, "claims-one-0")
    assert list(schema_problems(claim)) == []
    (config,) = claim["spec"]["devices"]["config"]
    assert config["opaque"]["parameters"]["sharing"] == expected
    result = {"driver": "gpu.nvidia.com", "pool": "n", "device": device, "request": "gpu"}
    allocation = {"devices": {"results": [result], "config": [config]}}
    gates = {"MPSSupport": need["sharing"] == "mps", "TimeSlicingSettings": True}
    check_claim({"status": {"allocation": allocation}}, "n", gates)
    dra_cut = one.pools[0].partition.dra
    assert dra_cut is not None
    gate = {"mps": "MPSSupport", "timeSlicing": "TimeSlicingSettings"}[need["sharing"]]
    assert gate in dra_cut.gates
    pod = claiming_pod_spec(one.pools[0], dra_cut.needs[0])
    assert pod["resourceClaims"] == [{"name": "gpu", "resourceClaimName": "claims-one-0"}]


def test_quota_counts_the_claims_that_it_can() -> None:
    """With dynamic MIG, the class of all MIG devices counts by memory. With static MIG, each
    profile has its own name, and a claim that several profiles satisfy has none."""
    on_demand = fleet({"name": "roomy", "memoryMib": 18000}, devices="mig", queues=True)
    (mapping,) = [m for m in class_mappings(on_demand) if m.resource == MIG_MEMORY]
    assert "mig.nvidia.com" in mapping.classes
    assert [f for f in validate_queues(on_demand) if f.code == "kueue-claims-without-quota"] == []
    layouts = [{"devices": {"3g.40gb": 1, "2g.20gb": 1}}]
    needs = [
        {"name": "roomy", "memoryMib": 18000},
        {"name": "large", "memoryMib": 30000},
        {"name": "turns", "profile": "2g.20gb", "sharing": "timeSlicing"},
    ]
    fixed = fleet(*needs, devices="mig", layouts=layouts, queues=True)
    found = [f for f in validate_queues(fixed) if f.code == "kueue-claims-without-quota"]
    assert sorted(f.evidence["value"] for f in found) == ["roomy", "turns"]
