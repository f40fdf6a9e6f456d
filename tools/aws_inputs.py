"""Inputs of the AWS provider: enumerations that it takes from the API's SDK, and rules of its code,
each with its file. `provider_inputs.py` writes them as rows."""

from collections.abc import Mapping
from typing import Any

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
"""Name of an interface without EFA. The provider accepts it; the API's enumeration omits it."""

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
        "aws:ec2/securityGroup:SecurityGroup",
        "namePrefix",
        {"source": "aws-security-group", "pattern": "^(?!sg-)"},
    ),
    # 255 less the 26 characters that the provider adds.
    (
        "aws:ec2/securityGroup:SecurityGroup",
        "namePrefix",
        {"source": "aws-security-group", "longest": 229},
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
        "key": "aws-security-group",
        "location": "botocore 1.44.5, ec2 CreateSecurityGroupRequest$GroupName, text; the provider "
        "adds 26 characters (github.com/hashicorp/terraform-provider-aws, "
        "internal/service/ec2/vpc_security_group.go, name_prefix)",
        "date": "2026-11-23",
    },
    {
        "key": "eks-access-entries",
        "location": "botocore 1.44.5, eks CreateAccessEntryRequest$type, text",
        "date": "2026-11-20",
    },
)
