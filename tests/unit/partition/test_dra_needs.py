"""Claims by what they need: which devices meet each, and what is refused.

Amounts of H100 and A100 are those of NVIDIA's MIG user guide, written down here again.
"""

from typing import Any

import pytest

from gpufleet.catalogue import load
from gpufleet.findings import Finding, Severity
from gpufleet.partition.dra_needs import NeededDevices
from gpufleet.platforms.compiled import compile_data

PLACE = "pools[0].sharing.dra.claims[0]"
ON_DEMAND: dict[str, Any] = {"devices": "mig"}
LAYOUTS: dict[str, Any] = {
    "devices": "mig",
    "layouts": [{"gpus": 1, "devices": {"3g.40gb": 1, "2g.20gb": 2}}],
}


def compiled(
    need: dict[str, Any], dra: dict[str, Any] | None = None, **pool: Any
) -> tuple[tuple[NeededDevices, ...], list[Finding]]:
    claims = [{"name": "one", **need}]
    declared = {
        "name": "claims",
        "instanceTypes": ["p5.48xlarge"],
        "nodes": {"min": 1, "max": 1},
        "sharing": {"dra": {"namespaces": ["lab"], **(dra or {}), "claims": claims}},
        **pool,
    }
    spec = {
        "catalogue": "2026.11",
        "platform": "eks",
        "cluster": {"name": "c", "region": "us-east-1"},
        "pools": [declared],
    }
    result = compile_data(spec)
    made = result.fleet.pools[0].partition.dra if result.fleet and result.fleet.pools else None
    found = [f for f in result.findings if f.path.startswith("pools[0].sharing.dra")]
    return made.needs if made is not None else (), found


@pytest.mark.parametrize(
    ("need", "dra", "kinds", "device_class"),
    [
        ({}, None, [None], "gpu.nvidia.com"),
        ({"memoryMib": 81559}, None, [None], "gpu.nvidia.com"),
        # 1g.20gb and larger have 20 GB or more; 1g.10gb has not.
        (
            {"memoryMib": 18000},
            ON_DEMAND,
            ["1g.20gb", "2g.20gb", "3g.40gb", "4g.40gb", "7g.80gb"],
            "mig.nvidia.com",
        ),
        # 60 multiprocessors are those of 3g, 64 those of 4g.
        ({"multiprocessors": 60}, ON_DEMAND, ["3g.40gb", "4g.40gb", "7g.80gb"], "mig.nvidia.com"),
        ({"multiprocessors": 65}, ON_DEMAND, ["7g.80gb"], "mig-7g.80gb.gpufleet.dev"),
        ({"profile": "2g.20gb"}, ON_DEMAND, ["2g.20gb"], "mig-2g.20gb.gpufleet.dev"),
        ({"devices": "gpu", "count": 8}, ON_DEMAND, [None], "gpu.nvidia.com"),
        ({"memoryMib": 18000}, LAYOUTS, ["2g.20gb", "3g.40gb"], "mig.nvidia.com"),
        ({"memoryMib": 30000}, LAYOUTS, ["3g.40gb"], "mig-3g.40gb.gpufleet.dev"),
        ({"count": 3}, LAYOUTS, ["2g.20gb", "3g.40gb"], "mig.nvidia.com"),
        ({"devices": "gpu"}, LAYOUTS, [None], "gpu.nvidia.com"),
    ],
    ids=str,
)
def test_kinds_of_device_that_meet_a_need(
    need: dict[str, Any], dra: dict[str, Any] | None, kinds: list[str | None], device_class: str
) -> None:
    needs, found = compiled(need, dra)
    assert [f for f in found if f.severity is Severity.ERROR] == []
    assert {offer.profile for offer in needs[0].offers} == set(kinds)
    assert needs[0].device_class == device_class


@pytest.mark.parametrize(
    ("need", "dra", "code", "field", "value", "limit"),
    [
        ({"memoryMib": 81560}, None, "dra-claim-unmet", "memoryMib", 81560, 81559),
        ({"memoryMib": 90000}, ON_DEMAND, "dra-claim-unmet", "memoryMib", 90000, 81152),
        ({"multiprocessors": 133}, ON_DEMAND, "dra-claim-unmet", "multiprocessors", 133, 132),
        ({"multiprocessors": 8}, None, "dra-claim-unmet", "multiprocessors", 8, "mig"),
        # 1g has the memory with 20 GB, and 3g has the multiprocessors: no 2g has both.
        (
            {"profile": "2g.20gb", "multiprocessors": 33},
            ON_DEMAND,
            "dra-claim-unmet",
            "multiprocessors",
            33,
            32,
        ),
        ({"profile": "1g.10gb"}, None, "dra-claim-unmet", "profile", "1g.10gb", "mig"),
        (
            {"profile": "1g.10gb"},
            LAYOUTS,
            "dra-claim-unmet",
            "profile",
            "1g.10gb",
            ("2g.20gb", "3g.40gb"),
        ),
        ({"devices": "mig"}, None, "dra-claim-unmet", "devices", "mig", "gpu"),
        ({"count": 9}, None, "dra-claim-unmet", "count", 9, 8),
        ({"products": ["L4"]}, None, "dra-claim-unmet", "products", ["L4"], "H100-80GB"),
        ({"products": ["H1000"]}, None, "dra-claim-product-unknown", "products[0]", "H1000", ...),
        ({"samePcieRoot": True}, None, "dra-claim-alone", "samePcieRoot", 1, 2),
        ({"nvlink": "machine"}, None, "dra-claim-alone", "nvlink", 1, 2),
        ({"nvlink": "domain"}, ON_DEMAND, "dra-claim-unmet", "nvlink", "domain", "gpu"),
        ({"name": "gpu"}, None, "dra-claim-name-taken", "name", "gpu", ...),
        ({"name": "mig-1g"}, None, "dra-claim-name-taken", "name", "mig-1g", ...),
        ({"clients": 2}, None, "dra-clients-without-sharing", "clients", 2, None),
        ({"sharedClaims": 2}, None, "dra-clients-without-sharing", "sharedClaims", 2, None),
        ({"interval": "Long"}, None, "dra-interval-without-turns", "interval", "Long", None),
        ({"pinnedMemoryMib": 99}, None, "dra-limit-without-mps", "pinnedMemoryMib", 99, "mps"),
        (
            {"sharing": "timeSlicing", "activeThreadPercentage": 50},
            None,
            "dra-limit-without-mps",
            "activeThreadPercentage",
            50,
            "mps",
        ),
        ({"sharing": "mps", "clients": 49}, None, "mps-too-many-clients", "clients", 49, 48),
        # Two of 20390 MiB and two of 20389: 81559 / 4, rounded down.
        (
            {"sharing": "mps", "clients": 4, "pinnedMemoryMib": 20390},
            None,
            "mps-client-limit-too-high",
            "pinnedMemoryMib",
            20390,
            20389,
        ),
    ],
    ids=str,
)  # fmt: skip
def test_a_need_that_no_device_meets_is_refused(
    need: dict[str, Any], dra: dict[str, Any] | None, code: str, field: str, value: Any, limit: Any
) -> None:
    needs, found = compiled(need, dra)
    assert needs == ()
    errors = [f for f in found if f.severity is Severity.ERROR]
    assert [(f.code, f.path) for f in errors] == [(code, f"{PLACE}.{field}")]
    assert errors[0].fix
    assert errors[0].evidence.get("value") == value
    if limit is not ...:
        assert errors[0].evidence.get("limit") == limit


def test_no_two_claims_have_one_name_and_all_are_made_somewhere() -> None:
    twice = {"claims": [{"name": "a"}, {"name": "a"}], "namespaces": ["lab"]}
    for dra, code in (
        (twice, "spec-value-inconsistent"),
        ({"claims": [{"name": "a"}]}, "dra-claims-nowhere"),
    ):
        pool = {"name": "p", "gpu": "L4", "nodes": {"min": 1, "max": 1}, "sharing": {"dra": dra}}
        spec = {"catalogue": "2026.11", "platform": "sandbox", "cluster": {"name": "c"}}
        codes = {f.code for f in compile_data({**spec, "pools": [pool]}).findings}
        assert code in codes, codes


@pytest.mark.parametrize(
    ("machine", "reach", "expected"),
    [
        # NVLink of a P5 joins its GPUs, that of a P6e its UltraServer; a G6 has none, and the
        # NVLink of a P3 joins some pairs only.
        ("p5.48xlarge", "machine", []),
        ("p6e-gb200.36xlarge", "machine", []),
        ("p6e-gb200.36xlarge", "domain", []),
        ("p5.48xlarge", "domain", ["dra-claim-unmet"]),
        ("g6.12xlarge", "machine", ["dra-claim-unmet"]),
        ("p3.16xlarge", "machine", ["dra-claim-unmet"]),
    ],
)
def test_nvlink_is_that_of_the_machines(machine: str, reach: str, expected: list[str]) -> None:
    _, found = compiled({"count": 2, "nvlink": reach}, instanceTypes=[machine])
    assert [f.code for f in found if f.severity is Severity.ERROR] == expected
    assert {f.path for f in found if f.code == "dra-claim-unmet"} <= {f"{PLACE}.nvlink"}


@pytest.mark.parametrize(
    ("products", "names"),
    [
        ((), ["NVIDIA H100 80GB HBM3"]),
        (("H100-80GB", "A100-80GB"), ["NVIDIA H100 80GB HBM3", "NVIDIA A100-SXM4-80GB"]),
        # Its boards are joined only in pairs, so the names do not show it.
        (("H100-80GB", "H100-94GB"), ["NVIDIA H100 80GB HBM3", "NVIDIA H100 NVL"]),
        (("H100-80GB", "H200-141GB"), ["NVIDIA H100 80GB HBM3", "NVIDIA H200"]),
    ],
)
def test_a_claim_over_nvlink_names_the_boards_that_a_switch_joins(
    products: tuple[str, ...], names: list[str]
) -> None:
    """NVIDIA: H100 PCIe, A100 PCIe and H200 NVL have bridges, SXM boards are on NVSwitch."""
    claim = {"count": 2, "nvlink": "machine", "products": list(products)}
    (need,), found = compiled(claim)
    assert [f for f in found if f.severity is Severity.ERROR] == []
    assert list(need.product_names) == names


def test_of_own_hardware_nvlink_is_not_known() -> None:
    pool = {
        "name": "p",
        "gpu": "A100-80GB",
        "gpusPerNode": 4,
        "nodes": {"min": 1, "max": 1},
        "vsphere": {"cpus": 64, "memoryGib": 512, "template": "ubuntu"},
        "sharing": {
            "dra": {
                "namespaces": ["lab"],
                "claims": [{"name": "pair", "count": 2, "nvlink": "machine"}],
            }
        },
    }
    spec = {"catalogue": "2026.11", "platform": "vsphere", "cluster": {"name": "c"}}
    found = compile_data({**spec, "pools": [pool]}).findings
    named = [(f.code, f.severity) for f in found if f.path == f"{PLACE}.nvlink"]
    assert named == [("dra-claim-not-known", Severity.WARNING)]


def test_products_are_boards_of_each_gpu_named() -> None:
    needs, found = compiled({"products": ["H100-80GB", "A100-80GB"]})
    assert [f for f in found if f.severity is Severity.ERROR] == []
    both = {*load().gpu("H100-80GB").product_names, *load().gpu("A100-80GB").product_names}
    assert set(needs[0].product_names) == both
