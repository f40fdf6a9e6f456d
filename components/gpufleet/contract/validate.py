"""All relations between pools and programs of one cluster, and their violations.

Used by `compile` for declarations, and by `check`, the audit and the pack for files.
"""

from collections.abc import Iterator

from gpufleet.cluster.cluster import ClusterModel
from gpufleet.contract.advertisers import validate_advertisers
from gpufleet.contract.claims import validate_claims
from gpufleet.contract.drivers import validate_drivers, validate_images, validate_versions
from gpufleet.contract.feature_discovery import validate_discovery
from gpufleet.contract.mig_mode import validate_mig_mode
from gpufleet.contract.provisioner_model import validate_provisioner
from gpufleet.contract.rdma import validate_rdma
from gpufleet.contract.relation import Broken
from gpufleet.contract.repair import validate_repair
from gpufleet.contract.tolerations import validate_tolerations

RULES = (
    validate_tolerations,
    validate_rdma,
    validate_advertisers,
    validate_provisioner,
    validate_versions,
    validate_images,
    validate_drivers,
    validate_mig_mode,
    validate_discovery,
    validate_claims,
    validate_repair,
)


def broken(cluster: ClusterModel) -> Iterator[Broken]:
    """All violated relations; each has its chain of facts."""
    for rule in RULES:
        yield from rule(cluster)
