"""Plans of two public blueprints, in the form that `terraform show -json` prints.

Terraform was not available: the values are those of the HCL, with the defaults of the modules that
it calls, and values that only an apply knows are in `after_unknown`.

EKS: aws-ia/terraform-aws-eks-blueprints at 0426f2b `patterns/nvidia-gpu-efa/eks.tf`; module
terraform-aws-modules/eks 20.34, whose launch template encrypts nothing by default, requires IMDSv2
with two hops and has an interface for each of the 32 EFAs of p5.48xlarge. GKE:
GoogleCloudPlatform/cluster-toolkit at 0516e53 `examples/gke-a3-highgpu.yaml` with module
`modules/compute/gke-node-pool` at 01a7a3e (`main.tf`) and 01df6b2 (`variables.tf`).
"""

from typing import Any

EFA_INTERFACES = [
    {
        "device_index": 0 if card == 0 else 1,
        "network_card_index": card,
        "interface_type": "efa",
        "delete_on_termination": "true",
        "associate_public_ip_address": "false",
    }
    for card in range(32)
]
NODE_CONFIG = """\
---
apiVersion: node.eks.aws/v1alpha1
kind: NodeConfig
spec:
  instance:
    localStorage:
      strategy: RAID0
"""

_NODE_GROUP: dict[str, Any] = {
    "cluster_name": "nvidia-gpu-efa",
    "node_group_name": None,
    "node_group_name_prefix": "nvidia-efa-",
    "ami_type": "AL2023_x86_64_NVIDIA",
    "instance_types": ["p5.48xlarge"],
    "capacity_type": "ON_DEMAND",
    "disk_size": None,
    "version": "1.32",
    "labels": {"vpc.amazonaws.com/efa.present": "true", "nvidia.com/gpu.present": "true"},
    "taint": [{"key": "nvidia.com/gpu", "value": "true", "effect": "NO_SCHEDULE"}],
    "scaling_config": [{"min_size": 2, "max_size": 2, "desired_size": 2}],
    "update_config": [{"max_unavailable": None, "max_unavailable_percentage": 33}],
    "launch_template": [{}],
    "tags": {"Blueprint": "nvidia-gpu-efa", "Name": "nvidia-efa"},
    "node_repair_config": [],
}
_TEMPLATE: dict[str, Any] = {
    "name_prefix": "nvidia-efa-",
    "metadata_options": [
        {"http_endpoint": "enabled", "http_tokens": "required", "http_put_response_hop_limit": 2}
    ],
    "monitoring": [{"enabled": True}],
    "network_interfaces": EFA_INTERFACES,
    "placement": [{"group_name": "nvidia-efa"}],
    "tag_specifications": [],
    "tags": {"Blueprint": "nvidia-gpu-efa"},
    "update_default_version": True,
}

_NODE_POOL: dict[str, Any] = {
    "name": "a3-highgpu-8g-a3-highgpupool",
    "cluster": "projects/p/locations/us-central1/clusters/gke-a3-highgpu",
    "node_locations": ["us-central1-c"],
    "node_count": None,
    "autoscaling": [
        {"total_min_node_count": 2, "total_max_node_count": 1000, "location_policy": "ANY"}
    ],
    "management": [{"auto_repair": True, "auto_upgrade": False}],
    "upgrade_settings": [{"strategy": "SURGE", "max_surge": 0, "max_unavailable": 1}],
    "node_config": [
        {
            "disk_size_gb": 100,
            "resource_labels": {"ghpc_module": "gke-node-pool", "ghpc_role": "compute"},
            "labels": None,
            "oauth_scopes": ["https://www.googleapis.com/auth/cloud-platform"],
            "machine_type": "a3-highgpu-8g",
            "spot": False,
            "image_type": "COS_CONTAINERD",
            "guest_accelerator": [
                {
                    "type": "nvidia-h100-80gb",
                    "count": 8,
                    "gpu_driver_installation_config": [{"gpu_driver_version": "DEFAULT"}],
                    "gpu_sharing_config": [],
                }
            ],
            "taint": [{"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"}],
            "ephemeral_storage_local_ssd_config": [{"local_ssd_count": 16}],
            "shielded_instance_config": [
                {"enable_secure_boot": True, "enable_integrity_monitoring": True}
            ],
            "gvnic": [{"enabled": True}],
            "workload_metadata_config": [{"mode": "GKE_METADATA"}],
            "metadata": {"disable-legacy-endpoints": "true"},
            "linux_node_config": [
                {
                    "sysctls": {
                        "net.ipv4.tcp_rmem": "4096 87380 16777216",
                        "net.ipv4.tcp_wmem": "4096 16384 16777216",
                    }
                }
            ],
            "reservation_affinity": [{"consume_reservation_type": "NO_RESERVATION"}],
        }
    ],
    "network_config": [
        {
            "additional_node_network_configs": [
                {"network": f"gke-a3-highgpu-gpunet-{i}", "subnetwork": f"gpunet-{i}-subnet"}
                for i in range(4)
            ],
        }
    ],
}


def _change(kind: str, address: str, after: dict[str, Any], unknown: dict[str, Any]) -> Any:
    what = {"actions": ["create"], "before": None, "after": after, "after_unknown": unknown}
    return {"address": address, "mode": "managed", "type": kind, "change": what}


def eks_blueprint() -> dict[str, Any]:
    group = 'module.eks.module.eks_managed_node_group["nvidia-efa"].aws_eks_node_group.this[0]'
    template = 'module.eks.module.eks_managed_node_group["nvidia-efa"].aws_launch_template.this[0]'
    cpu = {**_NODE_GROUP, "instance_types": ["m5.large"], "ami_type": "AL2023_x86_64_STANDARD"}
    return {
        "format_version": "1.2",
        "planned_values": {},
        "resource_changes": [
            _change(
                "aws_eks_node_group",
                group,
                _NODE_GROUP,
                {
                    "id": True,
                    "launch_template": [{"id": True, "version": True}],
                    "subnet_ids": True,
                },
            ),
            _change("aws_launch_template", template, _TEMPLATE, {"id": True, "user_data": True}),
            _change(
                "aws_eks_node_group",
                'module.eks.module.eks_managed_node_group["default"].aws_eks_node_group.this[0]',
                {**cpu, "taint": [], "labels": {}},
                {"id": True},
            ),
        ],
    }


def gke_blueprint() -> dict[str, Any]:
    return {
        "format_version": "1.2",
        "planned_values": {},
        "resource_changes": [
            _change(
                "google_container_node_pool",
                "module.a3-highgpu_pool.google_container_node_pool.node_pool[0]",
                _NODE_POOL,
                {"id": True, "node_config": [{"service_account": True}], "project": True},
            )
        ],
    }
