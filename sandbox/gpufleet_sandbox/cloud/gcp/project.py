"""A Google project: APIs that are off at first, networks, accounts, clusters."""

# ruff: noqa: D102 - `Kind` describes create, update and delete

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from gpufleet_sandbox.cloud.cloud import CloudError, Made, PlainKind
from gpufleet_sandbox.cloud.joined_nodes import JoinedCluster
from gpufleet_sandbox.cloud.store import Stored

if TYPE_CHECKING:
    from gpufleet_sandbox.cloud.gcp.provider import GcpCloud

SERVICE = "gcp:projects/service:Service"
NETWORK = "gcp:compute/network:Network"
SUBNETWORK = "gcp:compute/subnetwork:Subnetwork"
ROUTER = "gcp:compute/router:Router"
ROUTER_NAT = "gcp:compute/routerNat:RouterNat"
ACCOUNT = "gcp:serviceaccount/account:Account"
MEMBER = "gcp:projects/iAMMember:IAMMember"
CLUSTER = "gcp:container/cluster:Cluster"
NODE_ROLES = (
    "roles/container.defaultNodeServiceAccount",
    "roles/container.nodeServiceAccount",
    "roles/editor",
)
"""With one of which nodes register (GKE documentation, service-accounts)."""


class GcpPlainKind(PlainKind):
    """A resource of Google that is checked and kept."""

    cloud: "GcpCloud"  # pyright: ignore[reportIncompatibleVariableOverride]

    def computed(self, identifier: str, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """The project, and a link where the type has one."""
        project = self.project(inputs)
        made: dict[str, Any] = {}
        if "project" in self.resource.outputs:
            made["project"] = project
        if "selfLink" in self.resource.outputs:
            name = identifier.rsplit("/", 1)[-1]
            made["selfLink"] = f"https://www.googleapis.com/stand-in/projects/{project}/{name}"
        return made

    def project(self, inputs: Mapping[str, Any]) -> str:
        """The resource's, else the provider's."""
        return str(inputs.get("project") or self.cloud.settings["project"])

    def found(self, token: str, named: str) -> Stored | None:
        """A resource by its id, its link or its name."""
        return next(
            (
                one
                for one in self.cloud.folder.resources(token)
                if named in (one.id, one.outputs.get("name"), one.outputs.get("selfLink"))
            ),
            None,
        )

    def users(self, token: str, key: str, of: Stored) -> list[str]:
        """Resources of a type that name this one."""
        names = (of.id, of.outputs.get("name"), of.outputs.get("selfLink"))
        return [
            one.name for one in self.cloud.folder.resources(token) if one.inputs.get(key) in names
        ]


class ServiceKind(GcpPlainKind):
    """projects.Service: an API that is on."""

    def identifier(self, inputs: Mapping[str, Any]) -> str:
        return f"{self.project(inputs)}/{inputs['service']}"

    def create(self, inputs: Mapping[str, Any]) -> Made:
        # To turn on what is on already is fine.
        identifier = self.identifier(inputs)
        return Made(identifier, self.computed(identifier, inputs))


class _OfServiceKind(GcpPlainKind):
    """A resource of an API that must be on, kept under the API's long name."""

    service = "compute.googleapis.com"
    place = "global"
    collection: str
    users_of: tuple[tuple[str, str], ...] = ()
    """Types that may be in it, and their input that names it."""

    def create(self, inputs: Mapping[str, Any]) -> Made:
        project = self.project(inputs)
        if self.cloud.folder.find(SERVICE, f"{project}/{self.service}") is None:
            raise CloudError(
                f"googleapi: Error 403: {self.service} has not been used in project {project} "
                "before or it is disabled., accessNotConfigured"
            )
        self.admit(inputs)
        return super().create(inputs)

    def delete(self, before: Stored) -> None:
        for token, key in self.users_of:
            if users := self.users(token, key, before):
                raise CloudError(
                    f"googleapi: Error 400: The resource {before.id} is already being used by "
                    f"{', '.join(users)}, resourceInUseByAnotherResource"
                )

    def identifier(self, inputs: Mapping[str, Any]) -> str:
        where = f"regions/{inputs['region']}" if self.place == "region" else self.place
        return f"projects/{self.project(inputs)}/{where}/{self.collection}/{inputs['name']}"

    def admit(self, inputs: Mapping[str, Any]) -> None:
        """Refuse what names something that is not there."""

    def needs(self, token: str, inputs: Mapping[str, Any], key: str) -> Stored:
        """The resource that an input names. Raises CloudError where it does not exist."""
        there = self.found(token, str(inputs[key]))
        if there is None:
            raise CloudError(f"googleapi: Error 404: {inputs[key]} was not found, notFound")
        return there


class NetworkKind(_OfServiceKind):
    """compute.Network."""

    collection = "networks"
    users_of = ((SUBNETWORK, "network"), (ROUTER, "network"), (CLUSTER, "network"))


class SubnetworkKind(_OfServiceKind):
    """compute.Subnetwork."""

    collection, place = "subnetworks", "region"
    users_of = ((CLUSTER, "subnetwork"),)

    def admit(self, inputs: Mapping[str, Any]) -> None:
        self.needs(NETWORK, inputs, "network")


class RouterKind(_OfServiceKind):
    """compute.Router."""

    collection, place = "routers", "region"

    def admit(self, inputs: Mapping[str, Any]) -> None:
        self.needs(NETWORK, inputs, "network")


class RouterNatKind(_OfServiceKind):
    """compute.RouterNat."""

    collection, place = "nats", "region"

    def admit(self, inputs: Mapping[str, Any]) -> None:
        self.needs(ROUTER, inputs, "router")


class AccountKind(GcpPlainKind):
    """serviceaccount.Account."""

    def identifier(self, inputs: Mapping[str, Any]) -> str:
        return f"projects/{self.project(inputs)}/serviceAccounts/{self._email(inputs)}"

    def computed(self, identifier: str, inputs: Mapping[str, Any]) -> dict[str, Any]:
        email = self._email(inputs)
        own = {"email": email, "member": f"serviceAccount:{email}", "name": identifier}
        return {**super().computed(identifier, inputs), **own}

    def _email(self, inputs: Mapping[str, Any]) -> str:
        return f"{inputs['accountId']}@{self.project(inputs)}.iam.gserviceaccount.com"


class MemberKind(GcpPlainKind):
    """projects.IAMMember."""

    def identifier(self, inputs: Mapping[str, Any]) -> str:
        return f"{self.project(inputs)}/{inputs['role']}/{inputs['member']}"


class ClusterKind(_OfServiceKind):
    """container.Cluster."""

    service, collection = "container.googleapis.com", "clusters"

    def identifier(self, inputs: Mapping[str, Any]) -> str:
        place = inputs.get("location") or self.cloud.settings.get("region")
        return f"projects/{self.project(inputs)}/locations/{place}/clusters/{inputs['name']}"

    def admit(self, inputs: Mapping[str, Any]) -> None:
        self.needs(NETWORK, inputs, "network")
        subnetwork = self.needs(SUBNETWORK, inputs, "subnetwork")
        there = {one["rangeName"] for one in subnetwork.inputs.get("secondaryIpRanges") or []}
        allocation = inputs.get("ipAllocationPolicy") or {}
        for key in ("clusterSecondaryRangeName", "servicesSecondaryRangeName"):
            wanted = allocation.get(key)
            if wanted is not None and wanted not in there:
                raise CloudError(
                    f"googleapi: Error 400: Pod or service secondary range {wanted} not found in "
                    f"subnet {subnetwork.outputs['name']}., badRequest"
                )

    def computed(self, identifier: str, inputs: Mapping[str, Any]) -> dict[str, Any]:
        behind = JoinedCluster.of(self.cloud.folder)
        return {
            **super().computed(identifier, inputs),
            "endpoint": "203.0.113.1" if behind is None else behind.endpoint.split("//")[1],
            "masterAuth": {"clusterCaCertificate": "Q0E=" if behind is None else behind.authority},
            "masterVersion": f"{inputs.get('minMasterVersion') or '1.36'}.1-gke.1000000",
            "location": identifier.split("/")[3],
        }

    def delete(self, before: Stored) -> None:
        if before.inputs.get("deletionProtection"):
            raise CloudError("Cannot destroy cluster because deletion_protection is set to true.")
        super().delete(before)
