"""NodePools of Karpenter on Azure, Google Cloud and Oracle Cloud are pools with GPUs.

Label keys: Azure/karpenter-provider-azure 00ae112 `pkg/apis/v1beta1/labels.go`,
cloudpilot-ai/karpenter-provider-gcp 00d549e `labels.go` and 06f4fc7 `gcenodeclass.go`,
oracle/karpenter-provider-oci issue 31 (the NodePool). Machines: the catalogue's offers.
"""

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.policies.test_false_errors import codes

AZURE = "karpenter.azure.com", "AKSNodeClass"
GOOGLE = "karpenter.k8s.gcp", "GCENodeClass"
ORACLE = "oci.oraclecloud.com", "OCINodeClass"


def pool(of: tuple[str, str], key: str, *values: str) -> dict[str, Any]:
    group, kind = of
    return {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": "gpu"},
        "spec": {
            "template": {
                "spec": {
                    "nodeClassRef": {"group": group, "kind": kind, "name": "gpu"},
                    "requirements": [{"key": key, "operator": "In", "values": list(values)}],
                }
            }
        },
    }


def shown(folder: Path, *objects: dict[str, Any]) -> set[str]:
    return codes(folder, yaml.safe_dump_all(objects))


@pytest.mark.parametrize(
    ("of", "key", "value"),
    [
        (AZURE, "node.kubernetes.io/instance-type", "Standard_NC24ads_A100_v4"),
        (AZURE, "karpenter.azure.com/sku-name", "Standard_NC24ads_A100_v4"),
        (AZURE, "karpenter.azure.com/sku-gpu-name", "A100"),
        (AZURE, "karpenter.azure.com/sku-gpu-manufacturer", "nvidia"),
        (GOOGLE, "node.kubernetes.io/instance-type", "g2-standard-4"),
        (GOOGLE, "karpenter.k8s.gcp/instance-gpu-name", "nvidia-l4"),
        (ORACLE, "oci.oraclecloud.com/instance-shape", "VM.GPU.A10.2"),
    ],
)
def test_a_pool_with_gpus_is_one(tmp_path: Path, of: tuple[str, str], key: str, value: str):
    assert "gpu-pool-unbounded" in shown(tmp_path, pool(of, key, value))


@pytest.mark.parametrize(
    ("of", "key", "value"),
    [
        (AZURE, "node.kubernetes.io/instance-type", "Standard_D4s_v5"),
        (AZURE, "karpenter.azure.com/sku-gpu-manufacturer", "amd"),
        (AZURE, "karpenter.azure.com/sku-family", "D"),
        (GOOGLE, "node.kubernetes.io/instance-type", "n2-standard-4"),
        (ORACLE, "oci.oraclecloud.com/instance-shape", "VM.Standard.E4.Flex"),
    ],
)
def test_a_pool_without_gpus_is_none(tmp_path: Path, of: tuple[str, str], key: str, value: str):
    assert not shown(tmp_path, pool(of, key, value))


@pytest.mark.parametrize("taints", [True, False])
def test_a_class_of_google_cloud_may_bring_the_taint(tmp_path: Path, taints: bool):
    node_class = {
        "apiVersion": "karpenter.k8s.gcp/v1alpha1",
        "kind": "GCENodeClass",
        "metadata": {"name": "gpu"},
        "spec": {
            "imageSelectorTerms": [{"alias": "ContainerOptimizedOS@latest"}],
            "autoGPUTaint": taints,
        },
    }
    found = shown(
        tmp_path, pool(GOOGLE, "node.kubernetes.io/instance-type", "g2-standard-4"), node_class
    )
    assert ("gpu-pool-untainted" in found) is not taints


@pytest.mark.parametrize(("mode", "twice"), [("Unmanaged", True), ("Managed", False)])
def test_aks_brings_the_driver_of_its_images(tmp_path: Path, mode: str, twice: bool):
    """The operator's toolkit is a second one on AKS' images; of managed GPUs nothing is known."""
    node_class = {
        "apiVersion": "karpenter.azure.com/v1beta1",
        "kind": "AKSNodeClass",
        "metadata": {"name": "gpu"},
        "spec": {"imageFamily": "Ubuntu2204", "gpu": {"nvidia": {"managementMode": mode}}},
    }
    operator = {
        "apiVersion": "nvidia.com/v1",
        "kind": "ClusterPolicy",
        "metadata": {"name": "cluster-policy"},
        "spec": {"toolkit": {"enabled": True}, "driver": {"enabled": False}},
    }
    found = shown(
        tmp_path,
        pool(AZURE, "karpenter.azure.com/sku-name", "Standard_NC24ads_A100_v4"),
        node_class,
        operator,
    )
    assert ("gpu-software-installed-twice" in found) is twice
