"""Network interfaces and security groups of a launch template: what EC2 and EKS make of them.

Sources: EC2 service model (botocore 1.44.5), EC2 user guide `efa-acc-inst-types`, EKS user guide
`nodes/launch-templates`.
"""

from collections.abc import Iterable

from gpufleet.findings import Finding, findings_in
from gpufleet.platforms.eks.provider_arguments import Arguments, items

_finding = findings_in(__file__)


def validate_interfaces(template: Arguments, path: str) -> Iterable[Finding]:
    """Everything about `networkInterfaces` and security groups, in the provider's spelling."""
    yield from _groups(template, path)
    yield from _places(template, path)


def _groups(template: Arguments, path: str) -> Iterable[Finding]:
    interfaces = items(template, "networkInterfaces")
    groups = [
        key for key in ("vpcSecurityGroupIds", "securityGroupNames") if items(template, key)
    ] + [
        f"networkInterfaces[{index}].securityGroups"
        for index, interface in enumerate(interfaces)
        if items(interface, "securityGroups")
    ]
    if groups:
        yield _finding("launch-template-own-security-groups", f"{path}.{groups[0]}")
    for key in ("vpcSecurityGroupIds", "securityGroupNames"):
        if interfaces and template.get(key):
            yield _finding("launch-template-security-groups-twice", f"{path}.{key}", key=key)


def _places(template: Arguments, path: str) -> Iterable[Finding]:
    interfaces = items(template, "networkInterfaces")
    if not interfaces:
        return
    places = [(i.get("networkCardIndex") or 0, i.get("deviceIndex") or 0) for i in interfaces]
    for index, place in enumerate(places):
        if place in places[:index]:
            yield _finding(
                "launch-template-interface-twice",
                f"{path}.networkInterfaces[{index}]",
                key=place[0],
                expected=place[1],
                found=place,
            )
    if (0, 0) not in places:
        yield _finding("launch-template-no-primary", path)
    cards: set[int] = set()
    for index, interface in enumerate(interfaces):
        kind = interface.get("interfaceType")
        card = interface.get("networkCardIndex") or 0
        if kind == "efa-only" and places[index] == (0, 0):
            yield _finding("launch-template-primary-efa-only", f"{path}.networkInterfaces[{index}]")
        if kind in {"efa", "efa-only"} and card in cards:
            yield _finding(
                "launch-template-efa-per-card", f"{path}.networkInterfaces[{index}]", found=card
            )
        if kind in {"efa", "efa-only"}:
            cards.add(card)
        public = interface.get("associatePublicIpAddress")
        if len(interfaces) > 1 and public in {True, "true"}:
            yield _finding(
                "launch-template-public-address",
                f"{path}.networkInterfaces[{index}]",
                found=len(interfaces),
            )
