"""The API of claims: its parts in the cluster's minor version of Kubernetes, and the parts that the
DRA driver is configured to use."""

from collections.abc import Iterator
from dataclasses import replace

from gpufleet.catalogue.features import Release
from gpufleet.cluster.cluster import ClusterModel
from gpufleet.cluster.program import Program
from gpufleet.contract.advertisers import Advertiser
from gpufleet.contract.contract_fact import ContractFact
from gpufleet.contract.dra_api import CHART_KEY, FIRST_WITH_V1, GROUP, SERVED
from gpufleet.contract.relation import DRA_DRIVER, Broken
from gpufleet.findings import findings_in

_finding = findings_in(__file__)

FIRST_BETA = (1, 32)
"""First minor with an API of claims that can be switched on (kubernetes/website
`feature-gates/dynamic-resource-allocation.md`: beta and off in 1.32 and 1.33, on since 1.34)."""

ADMIN_LABEL = "resource.kubernetes.io/admin-access"
"""Label of namespaces in which claims may have administrative access, `true` (k8s.io/api v0.34.13
to v0.37.0, DRAAdminNamespaceLabelKey)."""
FIRST_ADMIN_LABEL = "resource.k8s.io/admin-access"
"""Its name in Kubernetes 1.33, the first release that requires it."""


def validate_claims(cluster: ClusterModel) -> Iterator[Broken]:
    """The DRA driver in a cluster without its API. Settings of platforms are checked by the rules
    of declarations."""
    minor = cluster.site.kubernetes
    for driver in cluster.programs(DRA_DRIVER):
        if minor.is_known:
            yield from _version(driver, minor.value)
            if not cluster.complete and FIRST_BETA <= minor.value < FIRST_WITH_V1:
                said = ".".join(map(str, minor.value))
                finding = _finding("dra-kubernetes-beta", minor.place, value=said, limit="1.34")
                yield Broken.of(finding, driver)
    yield from _unserved(cluster)
    yield from _without_label(cluster)


def _unserved(cluster: ClusterModel) -> Iterator[Broken]:
    """Claimed GPUs, and a driver that serves only compute domains."""
    drivers = tuple(cluster.programs(DRA_DRIVER))
    classes = {one.locator.name for one in cluster.classes}
    asking = [pool.name for pool in cluster.pools if pool.advertiser.found == Advertiser.DRA]
    asking += [
        f"{claim.locator}"
        for claim in cluster.claims
        if any(one.is_gpu and one.device_class.value not in classes for one in claim.requests)
    ]
    # Drivers on selected nodes change nothing: they publish no GPU on any node.
    serve = [driver.switch("resources.gpus.enabled", True).found for driver in drivers]
    if not asking or not drivers or any(on is not False for on in serve):
        return
    finding = _finding(
        "dra-driver-serves-no-gpus", drivers[0].field("resources.gpus.enabled"), asking=asking[:3]
    )
    # Files of one folder may belong to several clusters.
    yield replace(Broken.of(finding, drivers[0]), certain=cluster.complete)


def _without_label(cluster: ClusterModel) -> Iterator[Broken]:
    """Administrative access in a namespace that is declared without the label."""
    minor = cluster.site.kubernetes.found or (1, 33)
    labels = (ADMIN_LABEL, FIRST_ADMIN_LABEL) if minor == (1, 33) else (ADMIN_LABEL,)
    for claim in cluster.claims if minor >= (1, 33) else ():
        name = claim.locator.namespace
        spaces = [one for one in cluster.namespaces if one.locator.name == name]
        fields = [f"{one.place}.adminAccess" for one in claim.requests if one.admin_access]
        if not spaces or not fields:
            continue
        if not any(one.labels.get(label) == "true" for one in spaces for label in labels):
            finding = _finding(
                "dra-admin-namespace/label", fields[0], admin_label=ADMIN_LABEL, namespace=name
            )
            fact = ContractFact(f"{spaces[0].locator} has no such label", "metadata.labels")
            yield replace(Broken.of(finding, claim, fact), certain=cluster.site.kubernetes.is_known)


def _version(driver: Program, minor: Release) -> Iterator[Broken]:
    """The version in the chart's values, in which gpufleet also writes its objects."""
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
