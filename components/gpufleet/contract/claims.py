"""The API of claims: what the cluster's minor version of Kubernetes has of it, and what the DRA
driver is configured to use."""

from collections.abc import Iterator

from gpufleet.catalogue.features import Release
from gpufleet.cluster.cluster import ClusterModel
from gpufleet.cluster.program import Program
from gpufleet.contract.contract_fact import ContractFact
from gpufleet.contract.dra_api import CHART_KEY, FIRST_WITH_V1, GROUP, SERVED
from gpufleet.contract.relation import DRA_DRIVER, Broken
from gpufleet.findings import findings_in

_finding = findings_in(__file__)

FIRST_BETA = (1, 32)
"""First minor with an API of claims that can be switched on (kubernetes/website
`feature-gates/dynamic-resource-allocation.md`: beta and off in 1.32 and 1.33, on since 1.34)."""


def validate_claims(cluster: ClusterModel) -> Iterator[Broken]:
    """The DRA driver in a cluster without its API. What a platform switches on, the rules of
    declarations know."""
    minor = cluster.site.kubernetes
    for driver in cluster.programs(DRA_DRIVER):
        if minor.is_known:
            yield from _version(driver, minor.value)
            if not cluster.complete and FIRST_BETA <= minor.value < FIRST_WITH_V1:
                yield _minor(driver, minor.value, minor.place)


def _version(driver: Program, minor: Release) -> Iterator[Broken]:
    """The version that the chart's values name, in which gpufleet writes its objects too."""
    written = driver.value(CHART_KEY)
    known = {f"{GROUP}{name}": since for name, since in SERVED.items()}
    since = known.get(written) if isinstance(written, str) else None
    if written in (None, "") or (since is not None and minor >= since):
        return
    served = [name for name, first in known.items() if minor >= first]
    said = ".".join(map(str, minor))
    place = driver.field(CHART_KEY)
    fix = f"write one of {', '.join(served)}, or remove the line" if served else "remove the line"
    finding = _finding(
        "dra-api-not-had", place, fix=fix, value=written, minor=said, allowed=tuple(served)
    )
    has = ContractFact(f"Kubernetes {said} has {', '.join(served) or 'none'}", finding.path)
    yield Broken.of(finding, driver, ContractFact(f"{CHART_KEY} is {written}", place), has)


def _minor(driver: Program, minor: Release, place: str) -> Broken:
    said = ".".join(map(str, minor))
    finding = _finding("dra-kubernetes-beta", place, value=said, limit="1.34")
    return Broken.of(finding, driver, ContractFact(f"the cluster is Kubernetes {said}", place))
