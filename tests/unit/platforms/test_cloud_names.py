"""Whatever a fleet is called, no name of a cloud resource is one that the provider refuses.

Expected values: hashicorp/terraform-provider-aws `internal/service/ec2/vpc_security_group.go`
(`cannot begin with sg-`, 255 less 26 characters), `internal/service/eks/node_group.go` (63 less
26), EKS `CreateNodegroup` (first a letter or digit), IAM and SQS service models of botocore
1.44.5; hashicorp/terraform-provider-google `google/verify/validation.go` ValidateGCEName; GKE API,
NodePool (40 characters, first a letter).
"""

import re
from typing import Any

import pytest

from gpufleet.platforms.compiled import compile_data
from gpufleet.platforms.eks.names import name_prefix
from gpufleet.platforms.gke.gpu_networks import firewall_arguments, gpu_networks
from gpufleet.platforms.gke.names import node_pool_name
from gpufleet.platforms.gke.shape import gke_shape

AWS = {
    "node group": re.compile(r"[0-9A-Za-z][0-9A-Za-z_-]{0,36}"),
    "launch template": re.compile(r"[0-9A-Za-z()./_-]{3,102}"),
    "security group": re.compile(r"(?!sg-)[0-9A-Za-z ._:/()#,@\[\]+=&;{}!$*-]{1,229}"),
    "role": re.compile(r"[0-9A-Za-z_+=,.@-]{1,38}"),
    "queue": re.compile(r"[0-9A-Za-z_-]{1,54}"),
}
GCE = re.compile(r"[a-z](?:[-a-z0-9]{0,61}[a-z0-9])?")
NODE_POOL = re.compile(r"[a-z](?:[-a-z0-9]{0,38}[a-z0-9])?")
PREFIXES = ["1a", "123", "0-0", "sg", "sg-sg", "sg-1", "x" * 63, "9" * 63, "a--b"]
POOLS = ["sg", "sg-x", "p" * 40, "a"]


@pytest.mark.parametrize("prefix", [*PREFIXES, "ML_prod", "1_" + "A" * 98])
@pytest.mark.parametrize("name", [*POOLS, "karpenter"])
@pytest.mark.parametrize("kind", AWS)
def test_names_on_aws(kind: str, name: str, prefix: str) -> None:
    made = name_prefix(prefix, name, kind)
    assert AWS[kind].fullmatch(made), made
    assert name[:5] in made


def test_the_group_of_an_efa_pool_is_not_called_as_its_ids() -> None:
    assert name_prefix("sg", "cut-efa", "security group") == "gpu-sg-cut-efa-"


@pytest.mark.parametrize("prefix", [one for one in PREFIXES if len(one) < 40])
def test_networks_and_node_pools_on_google(prefix: str) -> None:
    data = fleet("gke", prefix, {"instanceTypes": ["a3-highgpu-8g"], "fabric": "tcpx"})
    data["addons"] = {"gpuDirect": {"networks": {}}}
    result = compile_data(data)
    assert result.fleet is not None, result.findings
    pool = result.fleet.pools[0]
    made = gpu_networks(result.fleet.spec, result.fleet.pools)
    rules = [rule["name"] for one in made if (rule := firewall_arguments(one)) is not None]
    names = [*rules, *(one.name for one in made), *(s.name for one in made for s in one.subnets)]
    assert len(made) == 4
    assert all(GCE.fullmatch(name) for name in names), names
    for step in gke_shape(pool).steps:
        assert NODE_POOL.fullmatch(node_pool_name(pool, step, prefix))


def fleet(platform: str, prefix: str, pool: dict[str, Any]) -> dict[str, Any]:
    region, zone = {"eks": ("us-east-1", "us-east-1a"), "gke": ("us-central1", "us-central1-a")}[
        platform
    ]
    cluster = {"name": "ml", "region": region, "kubernetesVersion": "1.36"}
    if platform == "gke":
        cluster["project"] = "lab-123456"
    common = {"name": "cut", "nodes": {"min": 0, "max": 2}, "zones": [zone]}
    return {
        "catalogue": "2026.11",
        "platform": platform,
        "namePrefix": prefix,
        "cluster": cluster,
        "pools": [{**common, **pool}],
    }
