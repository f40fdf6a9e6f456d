"""Managed node groups of the Terraform module `terraform-aws-modules/eks/aws`, as resources.

Source: terraform-aws-modules/terraform-aws-eks node_groups.tf at 002be2f: a group has its own
value, else that of `eks_managed_node_group_defaults`, else the module's, and a launch template.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from gpufleet.cluster.fact import UNKNOWN
from gpufleet.documents.shapes import as_mapping
from gpufleet_policies.resolve.hcl import Block

SOURCE = "terraform-aws-modules/eks/aws"
GROUPS = "eks_managed_node_groups"
_SIZES = {"min_size": 1, "max_size": 3, "desired_size": 1}
_PASSED_ON = ("instance_types", "ami_type", "capacity_type", "labels")


def node_groups(module: Block) -> Iterator[tuple[str, dict[str, Any]]]:
    """Key and values of each group of a call, as `aws_eks_node_group` has them. Nothing where the
    map of groups is not literal."""
    given = module.attributes
    defaults = given.get("eks_managed_node_group_defaults", {})
    for key, group in (as_mapping(given.get(GROUPS)) or {}).items():
        own = as_mapping(group)
        if own is None:
            yield key, {"scaling_config": UNKNOWN, "instance_types": UNKNOWN}
        elif own.get("create") is not False:
            yield key, _values(key, own, defaults, given)


def _values(
    key: str, own: Mapping[str, Any], defaults: Any, module: Mapping[str, Any]
) -> dict[str, Any]:
    shared = as_mapping(defaults)

    def said(name: str, otherwise: Any = None) -> Any:
        if name in own:
            return own[name]
        return UNKNOWN if shared is None else shared.get(name, otherwise)

    taints = said("taints", [])
    by_name = as_mapping(taints)
    tags = [one for one in (module.get("tags"), said("tags")) if one is not None]
    values: dict[str, Any] = {
        "node_group_name": own.get("name", key),
        "cluster_name": module.get("cluster_name", module.get("name")),
        "version": said("cluster_version", module.get("cluster_version")),
        "scaling_config": [{name: said(name, size) for name, size in _SIZES.items()}],
        "taint": taints if by_name is None else list(by_name.values()),
        "tags": UNKNOWN if UNKNOWN in tags else {k: v for one in tags for k, v in one.items()},
        "node_repair_config": said("node_repair_config"),
        **{name: said(name) for name in _PASSED_ON},
    }
    if said("use_custom_launch_template", True) is not False:
        values["launch_template"] = [{"name": "?"}]  # one that the module makes
    return {name: value for name, value in values.items() if value is not None}
