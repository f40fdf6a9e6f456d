"""Options of a pool that have no effect with the one who makes its nodes: they are refused, never
dropped.

Sources: Amazon EKS user guide, `automode/create-node-class` 6121ad5 (fields of the NodeClass); the
definitions karpenter.sh/v1 and karpenter.k8s.aws/v1 of v1.14.1.
"""

from collections.abc import Iterable, Mapping

from pydantic import BaseModel

from gpufleet.findings import Finding, error
from gpufleet.fleet.model import Pool
from gpufleet.spec.pool import Provisioner

_NO_GROUP = "there is no node group"
WITHOUT_EFFECT: Mapping[Provisioner, Mapping[str, Mapping[str, str]]] = {
    Provisioner.KARPENTER: {
        "eks": {
            "update": f"{_NO_GROUP}; Karpenter replaces nodes by `karpenter.disruption`",
            "imported": _NO_GROUP,
            "node_group": f"{_NO_GROUP}; fields of the NodePool are `karpenter.nodePool`",
            "launch_template": "Karpenter keeps the launch templates; fields of its node class are "
            "`karpenter.nodeClass`, and dedicated tenancy is a requirement of "
            "karpenter.k8s.aws/instance-tenancy",
        }
    },
    Provisioner.AUTO_MODE: {
        "eks": {
            "release_version": "AWS chooses the release of the image",
            "ami_id": "AWS chooses the image",
            "placement_group": "gpufleet makes none for Auto Mode",
            "update": _NO_GROUP,
            "metadata_hop_limit": "the hop limit is always 1",
            "fast_image_pull": "AWS chooses how images are pulled",
            "imported": _NO_GROUP,
            "node_group": f"{_NO_GROUP}; fields of the NodePool are `karpenter.nodePool`",
            "launch_template": "AWS keeps the launch templates; fields of the NodeClass are "
            "`karpenter.nodeClass`",
        },
        "karpenter": {
            "placement_group": "the NodeClass is not known to select a placement group",
            "price_adjustment": "there are no NodeOverlays",
        },
    },
}
"""Provisioner -> section of the pool -> option -> why it has no effect."""
_CODES = {
    Provisioner.KARPENTER: ("karpenter-decides", "Karpenter"),
    Provisioner.AUTO_MODE: ("auto-mode-decides", "EKS Auto Mode"),
}


def validate_options(pool: Pool) -> Iterable[Finding]:
    """Each such option that is written."""
    sections: Mapping[str, BaseModel | None] = {
        "eks": pool.spec.eks,
        "karpenter": pool.spec.karpenter,
    }
    for section, options in WITHOUT_EFFECT.get(pool.provisioner, {}).items():
        written = sections[section]
        if written is None:
            continue
        for key in sorted(options.keys() & written.model_fields_set):
            name = type(written).model_fields[key].alias or key
            code, who = _CODES[pool.provisioner]
            yield error(
                code,
                f"{pool.path}.{section}.{name}",
                f"`{name}` has no effect with {who}: {options[key]}",
                "remove it, or write `provisioner: managed`"
                if section == "eks"
                else "remove it, or write `provisioner: karpenter`",
                found=name,
            )
