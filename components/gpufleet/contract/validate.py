"""The contract check: every rule that needs more than one layer, over one cluster."""

from gpufleet.contract.advertisers import validate_advertisers
from gpufleet.contract.drivers import validate_drivers
from gpufleet.contract.facts import ClusterFacts
from gpufleet.contract.mig_mode import validate_mig_mode
from gpufleet.contract.provisioner_model import validate_provisioner
from gpufleet.contract.rdma import validate_rdma
from gpufleet.contract.tolerations import validate_tolerations
from gpufleet.contract.versions import validate_versions
from gpufleet.findings import Finding

RULES = (
    validate_tolerations,
    validate_rdma,
    validate_advertisers,
    validate_provisioner,
    validate_versions,
    validate_drivers,
    validate_mig_mode,
)


def validate_contract(cluster: ClusterFacts) -> list[Finding]:
    """All findings; each names its chain of facts in its evidence, `facts`."""
    return [finding for rule in RULES for finding in rule(cluster)]
