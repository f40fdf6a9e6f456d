"""The contract check: every rule that needs more than one layer, over one cluster."""

from gpufleet.contract.advertisers import judge_advertisers
from gpufleet.contract.facts import ClusterFacts
from gpufleet.contract.mig_mode import judge_mig_mode
from gpufleet.contract.provisioner_model import judge_provisioner
from gpufleet.contract.rdma import judge_rdma
from gpufleet.contract.tolerations import judge_tolerations
from gpufleet.contract.versions import judge_versions
from gpufleet.findings import Finding

RULES = (
    judge_tolerations,
    judge_rdma,
    judge_advertisers,
    judge_provisioner,
    judge_versions,
    judge_mig_mode,
)


def judge_contract(cluster: ClusterFacts) -> list[Finding]:
    """All findings; each names its chain of facts in its evidence, `facts`."""
    return [finding for rule in RULES for finding in rule(cluster)]
