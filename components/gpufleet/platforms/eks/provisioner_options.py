"""Options of a pool that have no effect with the one who makes its nodes: they are refused, never
dropped.

Sources: Amazon EKS user guide, `automode/create-node-class` 6121ad5 (fields of the NodeClass); the
definitions karpenter.sh/v1 and karpenter.k8s.aws/v1 of v1.14.1.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path

from pydantic import BaseModel

from gpufleet.catalogue.edition import read_rows
from gpufleet.findings import Finding, error
from gpufleet.fleet.model import Pool
from gpufleet.spec.pool import Provisioner


def _without_effect() -> Mapping[Provisioner, Mapping[str, Mapping[str, str]]]:
    found: dict[Provisioner, dict[str, dict[str, str]]] = {}
    for row in read_rows(Path(__file__).parent, "provisioner_options"):
        sections = found.setdefault(Provisioner(row["provisioner"]), {})
        sections.setdefault(row["section"], {})[row["option"]] = row["because"]
    return found


WITHOUT_EFFECT = _without_effect()
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
