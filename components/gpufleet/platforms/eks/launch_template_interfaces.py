"""Network interfaces and security groups of a launch template: what EC2 and EKS make of them.

Sources: EC2 service model (botocore 1.44.5), EC2 user guide `efa-acc-inst-types`, EKS user guide
`nodes/launch-templates`.
"""

from collections.abc import Iterable

from gpufleet.findings import Finding, error, warning
from gpufleet.platforms.eks.provider_arguments import Arguments, items


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
        yield warning(
            "launch-template-own-security-groups",
            f"{path}.{groups[0]}",
            "EKS does not add the cluster's security group to machines whose template names "
            "groups: without that group the node does not reach the control plane",
            "name the cluster's own too, or give `securityGroupIds` in the connection, to which it "
            "is added",
        )
    for key in ("vpcSecurityGroupIds", "securityGroupNames"):
        if interfaces and template.get(key):
            yield error(
                "launch-template-security-groups-twice",
                f"{path}.{key}",
                f"{key} and networkInterfaces are both given, which EC2 refuses",
                "write securityGroups on each interface",
            )


def _places(template: Arguments, path: str) -> Iterable[Finding]:
    interfaces = items(template, "networkInterfaces")
    if not interfaces:
        return
    places = [(i.get("networkCardIndex") or 0, i.get("deviceIndex") or 0) for i in interfaces]
    for index, place in enumerate(places):
        if place in places[:index]:
            yield error(
                "launch-template-interface-twice",
                f"{path}.networkInterfaces[{index}]",
                f"card {place[0]} device {place[1]} is given twice",
                "give each interface its own card and device index",
                found=list(place),
            )
    if (0, 0) not in places:
        yield error(
            "launch-template-no-primary",
            f"{path}.networkInterfaces",
            "no interface is card 0 device 0, and every machine needs a primary one",
            "add it, of type interface",
        )
    cards: set[int] = set()
    for index, interface in enumerate(interfaces):
        kind = interface.get("interfaceType")
        card = interface.get("networkCardIndex") or 0
        if kind == "efa-only" and places[index] == (0, 0):
            yield error(
                "launch-template-primary-efa-only",
                f"{path}.networkInterfaces[{index}].interfaceType",
                "the primary interface is efa-only, which carries no IP traffic",
                "write interface, and efa-only on card 0 device 1",
            )
        if kind in {"efa", "efa-only"} and card in cards:
            yield error(
                "launch-template-efa-per-card",
                f"{path}.networkInterfaces[{index}]",
                f"card {card} gets a second EFA, and a card carries one",
                "remove it",
                found=card,
            )
        if kind in {"efa", "efa-only"}:
            cards.add(card)
        public = interface.get("associatePublicIpAddress")
        if len(interfaces) > 1 and public in {True, "true"}:
            yield error(
                "launch-template-public-address",
                f"{path}.networkInterfaces[{index}].associatePublicIpAddress",
                f"EC2 gives no public address to a machine with {len(interfaces)} interfaces",
                "remove it and use private subnets",
                found=len(interfaces),
            )
