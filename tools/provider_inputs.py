"""Write `components/gpufleet/catalogue/providers/*.jsonl` again, from the providers' own schemas.

    python tools/provider_inputs.py gcp SCHEMA.json   # schema of the Google provider, as JSON
    python tools/provider_inputs.py aws               # service models of the installed botocore

The Google schema is what the provider's own `schema.Resource` says, with its validators asked for
the values that they take. Names become those of the Pulumi SDK, which the installed `pulumi_gcp`
gives. Rules that live in code of the AWS provider are rows of `AWS_CODE`, each with its file.
"""

import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from gpufleet.catalogue.provider_inputs import FOLDER
from gpufleet_sandbox.cloud.aws.model import enumeration
from gpufleet_sandbox.cloud.sdk import Sdk
from gpufleet_sandbox.cloud.shapes import ListOf, ObjectShape

GOOGLE_TYPES = {
    "google_container_node_pool": "gcp:container/nodePool:NodePool",
    "google_container_cluster": "gcp:container/cluster:Cluster",
    "google_compute_network": "gcp:compute/network:Network",
    "google_compute_subnetwork": "gcp:compute/subnetwork:Subnetwork",
    "google_compute_resource_policy": "gcp:compute/resourcePolicy:ResourcePolicy",
}
"""Resources that gpufleet makes, and those that its clusters are made of."""

_REGEXP = re.compile(r"doesn't match regexp \"(.+)\"$")

NODE_GROUP = "aws:eks/nodeGroup:NodeGroup"
LAUNCH_TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"
BOTOCORE: Mapping[str, Mapping[str, tuple[str, str]]] = {
    NODE_GROUP: {
        "amiType": ("eks", "AMITypes"),
        "capacityType": ("eks", "CapacityTypes"),
        "nodeRepairConfig.nodeRepairConfigOverrides.repairAction": ("eks", "RepairAction"),
        "taints.effect": ("eks", "TaintEffect"),
        "updateConfig.updateStrategy": ("eks", "NodegroupUpdateStrategies"),
        "warmPoolConfig.poolState": ("eks", "WarmPoolState"),
    },
    "aws:eks/addon:Addon": {
        "resolveConflictsOnCreate": ("eks", "ResolveConflicts"),
        "resolveConflictsOnUpdate": ("eks", "ResolveConflicts"),
    },
    "aws:eks/cluster:Cluster": {
        "accessConfig.authenticationMode": ("eks", "AuthenticationMode"),
        "enabledClusterLogTypes": ("eks", "LogType"),
        "kubernetesNetworkConfig.ipFamily": ("eks", "IpFamily"),
        "upgradePolicy.supportType": ("eks", "SupportType"),
    },
    "aws:ec2/eip:Eip": {"domain": ("ec2", "DomainType")},
    "aws:ec2/natGateway:NatGateway": {"connectivityType": ("ec2", "ConnectivityType")},
    "aws:ec2/vpcEndpoint:VpcEndpoint": {"vpcEndpointType": ("ec2", "VpcEndpointType")},
    LAUNCH_TEMPLATE: {
        "blockDeviceMappings.ebs.volumeType": ("ec2", "VolumeType"),
        "capacityReservationSpecification.capacityReservationPreference": (
            "ec2",
            "CapacityReservationPreference",
        ),
        "instanceMarketOptions.marketType": ("ec2", "MarketType"),
        "metadataOptions.httpEndpoint": ("ec2", "LaunchTemplateInstanceMetadataEndpointState"),
        "metadataOptions.httpProtocolIpv6": ("ec2", "LaunchTemplateInstanceMetadataProtocolIpv6"),
        "metadataOptions.httpTokens": ("ec2", "LaunchTemplateHttpTokensState"),
        "metadataOptions.instanceMetadataTags": (
            "ec2",
            "LaunchTemplateInstanceMetadataTagsState",
        ),
        "networkInterfaces.interfaceType": ("ec2", "NetworkInterfaceCreationType"),
        "placement.tenancy": ("ec2", "Tenancy"),
        "tagSpecifications.resourceType": ("ec2", "ResourceType"),
    },
    "aws:ec2/placementGroup:PlacementGroup": {"strategy": ("ec2", "PlacementStrategy")},
}
"""Inputs that the AWS provider compares with an enumeration of the API's SDK: type, path -> service
and shape of botocore."""

PLAIN_INTERFACE = "interface"
"""Name of an interface that is no EFA. The provider takes it; the API's enumeration omits it."""

_GROUP = {"source": "aws-node-group"}
_TEMPLATE = {"source": "aws-launch-template"}
_RESERVATION = "capacityReservationSpecification.capacityReservationTarget"
CLUSTER = "aws:eks/cluster:Cluster"
_CLUSTER = {"source": "aws-cluster"}
_AT_ONCE = ("updateConfig.maxUnavailable", "updateConfig.maxUnavailablePercentage")

AWS_CODE: tuple[tuple[str, str, Mapping[str, Any]], ...] = (
    (CLUSTER, "computeConfig.nodePools", {**_CLUSTER, "one_of": ["general-purpose", "system"]}),
    (CLUSTER, "encryptionConfig.resources", {**_CLUSTER, "one_of": ["secrets"]}),
    (CLUSTER, "name", {**_CLUSTER, "longest": 100}),
    (CLUSTER, "name", {**_CLUSTER, "pattern": "^[0-9A-Za-z][0-9A-Za-z_-]*$"}),
    (CLUSTER, "vpcConfig.publicAccessCidrs", {**_CLUSTER, "format": "cidr"}),
    (CLUSTER, "vpcConfig.subnetIds", {**_CLUSTER, "least_items": 1}),
    (NODE_GROUP, "launchTemplate.id", {**_GROUP, "conflicts_with": ["launchTemplate.name"]}),
    (NODE_GROUP, "launchTemplate.version", {**_GROUP, "longest": 255}),
    (NODE_GROUP, "nodeGroupName", {**_GROUP, "conflicts_with": ["nodeGroupNamePrefix"]}),
    (NODE_GROUP, "nodeGroupName", {**_GROUP, "longest": 63}),
    # 63 less the 26 characters that the provider adds.
    (NODE_GROUP, "nodeGroupNamePrefix", {**_GROUP, "longest": 37}),
    (NODE_GROUP, "scalingConfig.desiredSize", {**_GROUP, "minimum": 0}),
    (NODE_GROUP, "scalingConfig.maxSize", {**_GROUP, "minimum": 1}),
    (NODE_GROUP, "scalingConfig.minSize", {**_GROUP, "minimum": 0}),
    (NODE_GROUP, "subnetIds", {**_GROUP, "least_items": 1}),
    (NODE_GROUP, "taints", {**_GROUP, "most_items": 50}),
    (NODE_GROUP, "taints.key", {**_GROUP, "longest": 63}),
    (NODE_GROUP, "taints.value", {**_GROUP, "longest": 63}),
    *((NODE_GROUP, path, {**_GROUP, "minimum": 1, "maximum": 100}) for path in _AT_ONCE),
    (NODE_GROUP, _AT_ONCE[0], {**_GROUP, "exactly_one_of": list(_AT_ONCE)}),
    (
        LAUNCH_TEMPLATE,
        f"{_RESERVATION}.capacityReservationId",
        {**_TEMPLATE, "conflicts_with": [f"{_RESERVATION}.capacityReservationResourceGroupArn"]},
    ),
    (LAUNCH_TEMPLATE, "defaultVersion", {**_TEMPLATE, "conflicts_with": ["updateDefaultVersion"]}),
    (LAUNCH_TEMPLATE, "defaultVersion", {**_TEMPLATE, "minimum": 1}),
    (LAUNCH_TEMPLATE, "description", {**_TEMPLATE, "longest": 255}),
    (
        LAUNCH_TEMPLATE,
        "iamInstanceProfile.arn",
        {**_TEMPLATE, "conflicts_with": ["iamInstanceProfile.name"]},
    ),
    (LAUNCH_TEMPLATE, "instanceType", {**_TEMPLATE, "conflicts_with": ["instanceRequirements"]}),
    (
        LAUNCH_TEMPLATE,
        "metadataOptions.httpPutResponseHopLimit",
        {**_TEMPLATE, "minimum": 1, "maximum": 64},
    ),
    (LAUNCH_TEMPLATE, "name", {**_TEMPLATE, "conflicts_with": ["namePrefix"]}),
    (
        LAUNCH_TEMPLATE,
        "placement.hostResourceGroupArn",
        {**_TEMPLATE, "conflicts_with": ["placement.hostId"]},
    ),
    (
        LAUNCH_TEMPLATE,
        "securityGroupNames",
        {**_TEMPLATE, "conflicts_with": ["vpcSecurityGroupIds"]},
    ),
    (
        "aws:eks/accessEntry:AccessEntry",
        "type",
        {
            "source": "eks-access-entries",
            "one_of": [
                "EC2",
                "EC2_LINUX",
                "EC2_WINDOWS",
                "FARGATE_LINUX",
                "HYBRID_LINUX",
                "HYPERPOD_LINUX",
                "STANDARD",
            ],
        },
    ),
)
"""Type, path, constraint: what the AWS provider's own code refuses."""

AWS_REPLACES: Mapping[str, tuple[str, ...]] = {
    "aws:eks/cluster:Cluster": (
        "accessConfig.bootstrapClusterCreatorAdminPermissions",
        "bootstrapSelfManagedAddons",
        "kubernetesNetworkConfig.ipFamily",
        "kubernetesNetworkConfig.serviceIpv4Cidr",
        "name",
        "roleArn",
    ),
    "aws:ec2/vpc:Vpc": ("cidrBlock",),
    "aws:ec2/subnet:Subnet": ("availabilityZone", "cidrBlock", "vpcId"),
    "aws:ec2/eip:Eip": ("domain",),
    "aws:ec2/natGateway:NatGateway": ("allocationId", "connectivityType", "subnetId"),
    "aws:ec2/routeTable:RouteTable": ("vpcId",),
    "aws:ec2/route:Route": ("destinationCidrBlock", "routeTableId"),
    "aws:ec2/routeTableAssociation:RouteTableAssociation": ("gatewayId", "subnetId"),
    "aws:ec2/vpcEndpoint:VpcEndpoint": ("serviceName", "vpcEndpointType", "vpcId"),
    "aws:iam/serviceLinkedRole:ServiceLinkedRole": ("awsServiceName", "customSuffix"),
    "aws:eks/nodeGroup:NodeGroup": (
        "amiType",
        "capacityType",
        "clusterName",
        "diskSize",
        "instanceTypes",
        "launchTemplate.id",
        "launchTemplate.name",
        "nodeGroupName",
        "nodeGroupNamePrefix",
        "nodeRoleArn",
        "remoteAccess",
        "subnetIds",
    ),
    "aws:eks/addon:Addon": ("addonName", "clusterName"),
    "aws:eks/accessEntry:AccessEntry": ("clusterName", "principalArn", "type"),
    "aws:eks/accessPolicyAssociation:AccessPolicyAssociation": (
        "accessScope",
        "clusterName",
        "policyArn",
        "principalArn",
    ),
    "aws:eks/podIdentityAssociation:PodIdentityAssociation": (
        "clusterName",
        "namespace",
        "serviceAccount",
    ),
    "aws:ec2/launchTemplate:LaunchTemplate": ("name", "namePrefix"),
    "aws:ec2/placementGroup:PlacementGroup": (
        "name",
        "partitionCount",
        "spreadLevel",
        "strategy",
    ),
    "aws:ec2/securityGroup:SecurityGroup": ("description", "name", "namePrefix", "vpcId"),
    "aws:ec2/securityGroupRule:SecurityGroupRule": (
        "cidrBlocks",
        "fromPort",
        "ipv6CidrBlocks",
        "prefixListIds",
        "protocol",
        "securityGroupId",
        "self",
        "sourceSecurityGroupId",
        "toPort",
        "type",
    ),
    "aws:ec2/tag:Tag": ("key", "resourceId"),
    "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule": ("securityGroupId",),
    "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule": ("securityGroupId",),
    "aws:iam/role:Role": ("name", "namePrefix", "path"),
    "aws:iam/policy:Policy": ("description", "name", "namePrefix", "path"),
    "aws:iam/rolePolicy:RolePolicy": ("name", "namePrefix", "role"),
    "aws:iam/rolePolicyAttachment:RolePolicyAttachment": ("policyArn", "role"),
    "aws:iam/instanceProfile:InstanceProfile": ("name", "namePrefix", "path"),
    "aws:sqs/queue:Queue": ("fifoQueue", "name", "namePrefix"),
    "aws:sqs/queuePolicy:QueuePolicy": ("queueUrl",),
    "aws:cloudwatch/eventRule:EventRule": ("eventBusName", "name", "namePrefix"),
    "aws:cloudwatch/eventTarget:EventTarget": ("eventBusName", "rule", "targetId"),
    "aws:autoscaling/tag:Tag": ("autoscalingGroupName", "tag.key"),
}
"""Inputs with `ForceNew` or `RequiresReplace` in the schema of the AWS provider's resource."""

AWS_SOURCES = (
    {
        "key": "aws-cluster",
        "location": "github.com/hashicorp/terraform-provider-aws @ 00555dc, "
        "internal/service/eks/cluster.go, validate.go",
        "date": "2026-11-23",
    },
    {
        "key": "aws-node-group",
        "location": "github.com/hashicorp/terraform-provider-aws @ 012e0a3, "
        "internal/service/eks/node_group.go",
        "date": "2026-11-23",
    },
    {
        "key": "aws-launch-template",
        "location": "github.com/hashicorp/terraform-provider-aws @ 025e4f8, "
        "internal/service/ec2/ec2_launch_template.go",
        "date": "2026-11-23",
    },
    {
        "key": "aws-schemas",
        "location": "github.com/hashicorp/terraform-provider-aws @ 012e0a3 and b11fc0f, "
        "internal/service/{eks,ec2,iam,sqs,events,autoscaling}, schema of each resource",
        "date": "2026-11-21",
    },
    {
        "key": "eks-access-entries",
        "location": "botocore 1.44.5, eks CreateAccessEntryRequest$type, text",
        "date": "2026-11-20",
    },
)


ROUTER_NAT = "gcp:compute/routerNat:RouterNat"
_NAT = {"source": "google-router-nat"}
GOOGLE_CODE: tuple[tuple[str, str, Mapping[str, Any]], ...] = (
    (ROUTER_NAT, "natIpAllocateOption", {**_NAT, "one_of": ["MANUAL_ONLY", "AUTO_ONLY"]}),
    (
        ROUTER_NAT,
        "sourceSubnetworkIpRangesToNat",
        {
            **_NAT,
            "one_of": [
                "ALL_SUBNETWORKS_ALL_IP_RANGES",
                "ALL_SUBNETWORKS_ALL_PRIMARY_IP_RANGES",
                "LIST_OF_SUBNETWORKS",
            ],
        },
    ),
    (ROUTER_NAT, "name", {**_NAT, "replaces": "value"}),
    (ROUTER_NAT, "region", {**_NAT, "replaces": "value"}),
    (ROUTER_NAT, "router", {**_NAT, "replaces": "value"}),
)
"""Type, path, constraint of resources that the schema file does not have."""
GOOGLE_SOURCES = (
    {
        "key": "google-router-nat",
        "location": "github.com/hashicorp/terraform-provider-google @ 054ced1, "
        "google/services/compute/resource_compute_router_nat.go",
        "date": "2026-11-23",
    },
)


def google_rows(schema: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Source and constraints of the Google provider."""
    location, date = re.fullmatch(r"(.+) \((\d{4}-\d\d-\d\d)\).*", schema["source"]).groups()
    yield {"key": "google", "location": f"github.com/{location.replace(' ', ' @ ')}", "date": date}
    yield from GOOGLE_SOURCES
    yield from _code_rows(GOOGLE_CODE)
    sdk = Sdk("gcp")
    for name, token in GOOGLE_TYPES.items():
        record, names = sdk.resource(token).record, dict[str, str]()
        fields = schema["resources"][name]["fields"]
        rows = list(_google_fields(record, fields, (name,), "", names))
        for row in rows:
            for key in ("conflicts_with", "exactly_one_of", "at_least_one_of"):
                if key in row:
                    row[key] = sorted(names[path] for path in row[key])
            yield {"type": token, **row}


def _google_fields(
    record: ObjectShape, fields: Mapping[str, Any], at: tuple[str, ...], path: str, names: dict
) -> Iterator[dict[str, Any]]:
    for name, field in fields.items():
        if not (field.get("optional") or field.get("required")):
            continue
        own = next(one for one in _spellings(name) if one in record.properties)
        shape = record.properties[own].shape
        place, below = (*at, name), f"{path}.{own}" if path else own
        names[".0.".join(place[1:])] = below
        row = _constraint(field)
        if row:
            yield {"path": below, "source": "google", "at": ".".join(place), **row}
        if "fields" in field:
            inner = shape.item if isinstance(shape, ListOf) else shape
            yield from _google_fields(inner, field["fields"], place, below, names)


def _spellings(name: str) -> Iterator[str]:
    """The bridge writes camelCase, and lists of more than one in the plural."""
    head, *rest = name.split("_")
    plain = head + "".join(part.capitalize() for part in rest)
    yield from (plain, f"{plain}s", f"{plain}es", f"{plain.removesuffix('y')}ies")


def _constraint(field: Mapping[str, Any]) -> dict[str, Any]:
    row: dict[str, Any] = {}
    names = {
        "oneOf": "one_of",
        "minimum": "minimum",
        "conflictsWith": "conflicts_with",
        "exactlyOneOf": "exactly_one_of",
        "atLeastOneOf": "at_least_one_of",
        "minItems": "least_items",
    }
    for key, ours in names.items():
        if key in field:
            row[ours] = field[key]
    if field.get("maxItems", 1) > 1:
        row["most_items"] = field["maxItems"]
    for text in field.get("refusesText", ()):
        if found := _REGEXP.search(text):
            row["pattern"] = found[1]
        elif "CIDR" in text:
            row["format"] = "cidr"
    if field.get("forceNew"):
        row["replaces"] = "block" if "fields" in field else "value"
    return row


def aws_rows() -> Iterator[dict[str, Any]]:
    """Sources and constraints of the AWS provider."""
    import botocore

    yield {"key": "botocore", "location": f"botocore {botocore.__version__}", "date": "2026-11-20"}
    yield from AWS_SOURCES
    for token, paths in BOTOCORE.items():
        for path, (service, shape) in paths.items():
            values = list(enumeration(service, shape))
            if path == "networkInterfaces.interfaceType":
                values.append(PLAIN_INTERFACE)
            row = {"path": path, "source": "botocore", "at": f"{service} {shape}"}
            yield {"type": token, **row, "one_of": values}
    fixed = [
        (token, path, {"source": "aws-schemas", "replaces": "value"})
        for token, paths in AWS_REPLACES.items()
        for path in paths
    ]
    yield from _code_rows((*AWS_CODE, *fixed))


def _code_rows(
    rows: Iterable[tuple[str, str, Mapping[str, Any]]],
) -> Iterator[dict[str, Any]]:
    for token, path, row in rows:
        at = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", path).lower()
        yield {"type": token, "path": path, "at": at, **row}


def written(rows: Iterator[dict[str, Any]]) -> str:
    """The text of a file."""
    return "".join(json.dumps(row) + "\n" for row in rows)


def main(arguments: list[str]) -> None:
    """Write one file."""
    match arguments:
        case ["gcp", file]:
            text = written(google_rows(json.loads(Path(file).read_text(encoding="utf-8"))))
        case ["aws"]:
            text = written(aws_rows())
        case _:
            sys.exit(__doc__)
    (FOLDER / f"{arguments[0]}.jsonl").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
