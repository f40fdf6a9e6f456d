"""Networks of GPU interfaces that a fleet makes: what Google's blueprints have, ranges apart."""

from ipaddress import IPv4Network
from itertools import combinations
from typing import Any

import pytest

from gpufleet import GpuFleet
from gpufleet.catalogue.provider_inputs import violations
from gpufleet.change.fleet_change import change_plan
from gpufleet.change.plan import ResourceOperation
from gpufleet.components_base.inputs import InvalidArgumentsError
from gpufleet.platforms.compiled import compile_data
from gpufleet.platforms.gke.gpu_networks import (
    firewall_arguments,
    gpu_networks,
    gpu_subnet_arguments,
    network_arguments,
)

NETWORK = "gcp:compute/network:Network"
SUBNET = "gcp:compute/subnetwork:Subnetwork"
FIREWALL = "gcp:compute/firewall:Firewall"
NODE_POOL = "gcp:container/nodePool:NodePool"
MADE: dict[str, Any] = {"gpuDirect": {"networks": {}}}
ZONE = {"zones": ["us-central1-a"]}
TCPX = {"instanceTypes": ["a3-highgpu-8g"], "fabric": "tcpx", **ZONE}
TCPXO = {"instanceTypes": ["a3-megagpu-8g"], "fabric": "tcpxo", **ZONE}
ULTRA = {
    "instanceTypes": ["a3-ultragpu-8g"],
    "fabric": "rdma",
    "capacity": [{"spot": {}}],
    **ZONE,
}
A4X = {
    "instanceTypes": ["a4x-highgpu-4g"],
    "fabric": "rdma",
    "capacity": [{"reserved": {"id": "gb", "zone": "us-central1-a"}}],
}


def declared(*pools: dict[str, Any], addons: Any = MADE, **cluster: Any) -> dict[str, Any]:
    return {
        "catalogue": "2026.11",
        "platform": "gke",
        "cluster": {"name": "ml", "region": "us-central1", "project": "lab-project", **cluster},
        "pools": [
            {"name": f"p{index}", "nodes": {"min": 0, "max": 2}, "intent": "training", **pool}
            for index, pool in enumerate(pools)
        ],
        "addons": addons,
    }


def planned(*pools: dict[str, Any], **more: Any) -> Any:
    result = compile_data(declared(*pools, **more))
    assert result.fleet is not None, result.findings
    return {one.key: one for one in gpu_networks(result.fleet.spec, result.fleet.pools)}


def codes(*pools: dict[str, Any], **more: Any) -> dict[str, str]:
    findings = compile_data(declared(*pools, **more)).findings
    return {one.code: one.path for one in findings if one.severity.value == "error"}


@pytest.mark.parametrize(
    ("pool", "keys", "mtu"),
    [
        (TCPX, [f"vpc{number}" for number in range(1, 5)], 8244),
        (TCPXO, [f"vpc{number}" for number in range(1, 9)], 8244),
        (ULTRA, ["gvnic-1", "rdma"], None),
        (A4X, ["gvnic-1", "rdma"], None),
    ],
)
def test_each_machine_has_the_networks_of_its_blueprint(
    pool: dict[str, Any], keys: list[str], mtu: int | None
) -> None:
    made = planned(pool)
    assert list(made) == keys
    assert {one.mtu for one in made.values()} == {mtu}


@pytest.mark.parametrize(("pool", "interfaces"), [(ULTRA, 8), (A4X, 4)])
def test_rdma_interfaces_are_subnets_of_one_roce_network(
    pool: dict[str, Any], interfaces: int
) -> None:
    made = planned(pool)
    names = [subnet.name for subnet in made["rdma"].subnets]
    assert names == [f"ml-rdma-{number}" for number in range(interfaces)]
    profile = "projects/lab-project/global/networkProfiles/us-central1-a-vpc-roce"
    assert network_arguments(made["rdma"], "lab-project")["networkProfile"] == profile
    assert "networkProfile" not in network_arguments(made["gvnic-1"], "lab-project")


@pytest.mark.parametrize("cidr", ["192.168.0.0/16", "10.64.0.0/20"])
def test_no_two_subnets_have_an_address_in_common(cidr: str) -> None:
    """Interfaces of one machine may not overlap, and pools of several kinds share the range."""
    addons = {"gpuDirect": {"networks": {"cidr": cidr}}}
    networks = planned(TCPXO, TCPX, ULTRA, addons=addons).values()
    ranges = [IPv4Network(subnet.cidr) for one in networks for subnet in one.subnets]
    assert len(ranges) == 8 + 1 + 8
    assert all(one.subnet_of(IPv4Network(cidr)) for one in ranges)
    assert not [pair for pair in combinations(ranges, 2) if pair[0].overlaps(pair[1])]


def test_an_interface_keeps_its_range_when_other_pools_come() -> None:
    alone, together = planned(ULTRA), planned(TCPXO, ULTRA)
    assert alone["rdma"].subnets == together["rdma"].subnets


def test_the_provider_takes_them() -> None:
    for network in planned(TCPXO, ULTRA).values():
        assert not list(violations(NETWORK, network_arguments(network, "lab-project")))
        for subnet in network.subnets:
            assert not list(violations(SUBNET, gpu_subnet_arguments(subnet, "us-central1")))
        rule = firewall_arguments(network)
        if rule is not None:
            assert not list(violations(FIREWALL, rule))
            assert list(violations(FIREWALL, {**rule, "denies": [{"protocol": "tcp"}]}))


@pytest.mark.parametrize(
    ("pools", "more", "found"),
    [
        (
            [ULTRA, {**ULTRA, "zones": ["us-central1-b"]}],
            {},
            {"gke-gpu-networks-zone": "addons.gpuDirect.networks"},
        ),
        ([ULTRA], {"project": None}, {"gke-gpu-networks-project": "cluster.project"}),
        (
            [TCPX],
            {"addons": {"gpuDirect": {"networks": {"cidr": "192.169.0.0/16"}}}},
            {"gke-gpu-networks-range": "addons.gpuDirect.networks.cidr"},
        ),
        (
            [TCPX],
            {"addons": {"gpuDirect": {"networks": {"cidr": "10.0.0.0/21"}}}},
            {"gke-gpu-networks-range": "addons.gpuDirect.networks.cidr"},
        ),
        ([TCPX], {"project": None}, {}),
    ],
)
def test_what_cannot_be_made_is_refused(pools: Any, more: Any, found: dict[str, str]) -> None:
    assert codes(*pools, **more) == found


@pytest.mark.parametrize(("pool", "longest"), [(ULTRA, 46), (TCPX, 49)])
def test_a_name_that_google_refuses_is_refused(pool: dict[str, Any], longest: int) -> None:
    """63 characters less `-gvnic-1-internal` and `-vpc1-internal`."""
    cluster = {"gke-cluster-name": "cluster.name"}
    assert codes(pool, name="c" * longest) == cluster
    too_long = {**cluster, "gke-gpu-networks-name": "cluster.name"}
    assert codes(pool, name="c" * (longest + 1)) == too_long
    (rule,) = [one for one in map(firewall_arguments, planned(ULTRA).values()) if one]
    assert list(violations(FIREWALL, {**rule, "name": "c" * 64}))


@pytest.mark.parametrize(
    ("pools", "cidr", "fits", "wider"),
    [
        ([TCPXO], "172.17.0.0/20", 252, "/19"),
        ([ULTRA], "10.0.0.0/20", 124, "/19"),
        ([ULTRA, ULTRA], "10.0.0.0/16", 1022, "/15"),
        ([ULTRA, TCPXO], "10.0.0.0/19", 252, "/18"),
    ],
)
def test_subnets_have_addresses_for_all_nodes(
    pools: list[dict[str, Any]], cidr: str, fits: int, wider: str
) -> None:
    """An address of each subnet for a node, and four that Google keeps."""
    addons = {"gpuDirect": {"networks": {"cidr": cidr}}}
    most = [{**pool, "nodes": {"min": 0, "max": fits}} for pool in pools]
    assert codes(*most, addons=addons) == {}
    more = [*most[1:], {**most[0], "nodes": {"min": 0, "max": fits + 1}}]
    result = compile_data(declared(*more, addons=addons))
    (one,) = [one for one in result.findings if one.severity.value == "error"]
    assert (one.code, one.path) == ("gke-gpu-networks-size", "addons.gpuDirect.networks.cidr")
    assert f"a range of {wider} or wider" in (one.fix or "")


def test_node_pools_and_pods_name_the_networks_that_are_made(run: Any) -> None:
    connection: Any = {"cluster_name": "ml", "location": "us-central1", "project": "lab-project"}
    args: Any = {"spec": declared(TCPXO, ULTRA), "connection": connection}
    made = run(lambda: GpuFleet("fleet", args))
    vpcs = {one.inputs["name"]: one for one in made.all(NETWORK)}
    assert len(vpcs) == 8 + 2
    subnets = {one.inputs["name"]: one.inputs["network"] for one in made.all(SUBNET)}
    assert len(subnets) == 8 + 1 + 8
    assert {one.inputs["name"] for one in made.all(FIREWALL)} == {
        f"{name}-internal" for name in vpcs if name != "ml-rdma"
    }
    for pool in made.all(NODE_POOL):
        configs = pool.inputs["networkConfig"]["additionalNodeNetworkConfigs"]
        assert {one["network"] for one in configs} <= set(vpcs)
        assert {one["subnetwork"] for one in configs} <= set(subnets)
    for component in made.all("gpufleet:index:GkeGpuNodePool"):  # children come after, go before
        assert "fleet-network-vpc1-vpc" in component.depends_on
    sets = [one for one in made.resources if one.type.endswith("GKENetworkParamSet")]
    assert {one.inputs["spec"]["vpc"] for one in sets} == set(vpcs)


def test_given_and_made_networks_at_once_are_refused(run: Any) -> None:
    connection: Any = {"gpu_networks": {"vpc1": {"network": "n", "subnetwork": "s"}}}

    def program() -> None:
        args: Any = {"spec": declared(TCPX), "connection": connection}
        with pytest.raises(InvalidArgumentsError, match="gke-gpu-networks-twice"):
            GpuFleet("fleet", args)

    assert run(program).resources == []


def test_another_range_makes_new_node_pools() -> None:
    before = compile_data(declared(TCPX)).fleet
    after = compile_data(
        declared(TCPX, addons={"gpuDirect": {"networks": {"cidr": "10.64.0.0/16"}}})
    ).fleet
    assert before is not None
    assert after is not None
    (change,) = change_plan(before, after).pools
    assert [one.operation for one in change.engine] == [ResourceOperation.REPLACE]
