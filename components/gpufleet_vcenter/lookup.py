# pyright: standard
"""Search of objects by path or by name, machines by their instance uuid, and storage policies.

Storage policies are in a separate service (`/pbm`), which accepts the cookie of a vCenter login.
Cluster API calls it in the same way (kubernetes-sigs/cluster-api-provider-vsphere,
`pkg/services/govmomi/vcenter/clone.go`: CheckRequirements, then the profile in the clone).
"""

from collections.abc import Mapping, Sequence
from functools import cached_property
from http.cookies import SimpleCookie
from typing import Any
from urllib.parse import unquote

from pydantic.alias_generators import to_snake
from pyVmomi import pbm, vim
from pyVmomi.SoapAdapter import SoapStubAdapter

from gpufleet_vcenter.adapters import WantedAdapter, found_network
from gpufleet_vcenter.errors import VsphereError, failed, near
from gpufleet_vcenter.reading import children, one, properties
from gpufleet_vcenter.session import CALL_SECONDS, Session
from gpufleet_vcenter.settings import Place


def _object(kind: str) -> Any:
    """An object of this kind that a declaration may name; None: it names none."""
    field = to_snake(kind)
    return cached_property(lambda self: self.named(kind, getattr(self.place, field)))


class FoundPlace:
    """The objects that a declaration names, each looked up when it is first needed: a change of a
    machine that runs does not need the template.

    Every property raises a VsphereError where its name matches nothing (the text has near names) or
    more than one object (the text has them all).
    """

    def __init__(self, session: Session, place: Place, stores: tuple[str, ...] = ()) -> None:
        """Nothing is looked up yet. The stores are those of further disks, by name."""
        self._session, self.place, self._stores = session, place, stores

    def named(self, kind: str, name: str | None, root: Any = None) -> Any:
        """The object of this name; None: no name."""
        if name is None:
            return None
        return by_name(self._session, root or self.datacenter, kind, name)

    compute = _object("cluster")
    """Cluster, or the compute resource of a standalone host."""
    template = _object("template")
    """The template, or the machine that is cloned."""
    datastore = _object("datastore")
    """The datastore, where one is declared."""
    pod = _object("datastoreCluster")
    """The datastore cluster, where one is declared."""

    @cached_property
    def datacenter(self) -> Any:
        """The datacenter."""
        return datacenter_of(self._session, self.place.datacenter)

    @property
    def is_cluster(self) -> bool:
        """Whether it is a cluster."""
        return isinstance(self.compute, vim.ClusterComputeResource)

    @cached_property
    def pool(self) -> Any:
        """Resource pool; without a declaration the root pool."""
        name = self.place.resource_pool
        if name is not None:
            return self.named("resourcePool", name, self.compute)
        known = one(self._session, self.compute, vim.ComputeResource, ("resourcePool",)) or {}
        return known.get("resourcePool")

    @cached_property
    def folder(self) -> Any:
        """Folder of the machines; without a declaration the datacenter's."""
        known = one(self._session, self.datacenter, vim.Datacenter, ("vmFolder",)) or {}
        root = known.get("vmFolder")
        return self.named("folder", self.place.folder, root) or root

    @cached_property
    def adapters(self) -> tuple[WantedAdapter, ...]:
        """An adapter for each that is declared."""
        named = ((self.named("network", name), kind) for name, kind in self.place.adapters)
        return tuple(
            WantedAdapter(item and found_network(self._session, item), kind) for item, kind in named
        )

    @cached_property
    def policy(self) -> str | None:
        """Id of the storage policy."""
        name = self.place.storage_policy
        return None if name is None else policy_id(self._session, name)

    @cached_property
    def disk_stores(self) -> Mapping[str, tuple[Any, str]]:
        """Datastores of further disks, as the declaration names them, each with its name as vCenter
        writes it in paths of files."""
        stores = {name: self.named("datastore", name) for name in self._stores}
        found = properties(self._session, list(stores.values()), vim.Datastore, ("name",))
        names = {store: str(known["name"]) for store, known in found if "name" in known}
        return {name: (item, names.get(item, name)) for name, item in stores.items()}


def datacenter_of(session: Session, name: str) -> Any:
    """The datacenter of this name or inventory path."""
    return by_name(session, session.content.rootFolder, "datacenter", name)


def former_networks(
    session: Session, datacenter: Any, former: Sequence[tuple[str | None, str | None]]
) -> tuple[str | None, ...]:
    """Ids of the networks of previously declared adapters; None: a network that no longer exists,
    or the template's."""
    named = (name and _by_name_if_one(session, datacenter, "network", name) for name, _ in former)
    return tuple(found_network(session, item).id if item else None for item in named)


_KINDS: Mapping[str, type] = {
    "datacenter": vim.Datacenter,
    "template": vim.VirtualMachine,
    "cluster": vim.ComputeResource,
    "datastore": vim.Datastore,
    "datastoreCluster": vim.StoragePod,
    "resourcePool": vim.ResourcePool,
    "folder": vim.Folder,
    "network": vim.Network,
}
"""Kinds of objects that a declaration names, as `properties.csv` has them."""


def by_name(session: Session, root: Any, kind: str, wanted: str) -> Any:
    """The one object of a kind under `root` with this name, or at this inventory path; it is looked
    up once.

    Raises:
        VsphereError: no object, or more than one, is found.
    """
    if (key := (root, kind, wanted)) not in session.places:
        session.places[key] = looked_up(session, root, kind, wanted)
    return session.places[key]


def _by_name_if_one(session: Session, root: Any, kind: str, wanted: str) -> Any | None:
    """The same; None: the name leads to no object, or to several."""
    try:
        return by_name(session, root, kind, wanted)
    except VsphereError as problem:
        if problem.code in ("vsphere-not-found", "vsphere-ambiguous"):
            return None
        raise


def looked_up(session: Session, root: Any, kind: str, wanted: str) -> Any:
    """The same as it is now."""
    what = to_snake(kind).replace("_", " ")
    if wanted.startswith("/"):
        index = session.content.searchIndex
        found = session.call(lambda: index.FindByInventoryPath(wanted.lstrip("/")))
        if isinstance(found, _KINDS[kind]):
            return found
        raise failed("not-found/path", what=what, wanted=wanted)
    rows = [
        (item, unquote(entry["name"]))
        for item, entry in children(session, root, _KINDS[kind], ("name",))
        if "name" in entry
    ]
    matches = [item for item, name in rows if name == wanted]
    if len(matches) == 1:
        return matches[0]
    if matches:
        places = ", ".join(sorted(inventory_path(session, item) for item in matches))
        raise failed("ambiguous/name", count=len(matches), what=what, wanted=wanted, places=places)
    hint = near(wanted, (name for _, name in rows))
    raise failed("not-found/name", what=what, wanted=wanted, hint=hint)


def last_name(wanted: str) -> str:
    """The name of an object that is given by its name, or by its inventory path."""
    return unquote(wanted.rsplit("/", 1)[1]) if wanted.startswith("/") else wanted


def inventory_path(session: Session, item: Any) -> str:
    """`/DC0/vm/folder/name`."""
    names: list[str] = []
    current = item
    while current is not None:
        found = one(session, current, vim.ManagedEntity, ("name", "parent"))
        if found is None or found.get("parent") is None:
            break
        names.append(found["name"])
        current = found["parent"]
    return "/" + "/".join(reversed(names))


_VERSION = "pbm.version.version11"
"""API version of vSphere 6.5, the first with CheckRequirements."""


def policy_id(session: Session, name: str) -> str:
    """Id of the storage policy with this name.

    Raises:
        VsphereError: no such policy; the text has similar names.
    """

    def ask() -> dict[str, str]:
        profiles = _content(session).profileManager
        storage = pbm.profile.ResourceType(resourceType="STORAGE")
        found = profiles.QueryProfile(resourceType=storage, profileCategory="REQUIREMENT")
        listed = profiles.RetrieveContent(profileIds=found) if found else []
        return {str(item.name): str(item.profileId.uniqueId) for item in listed}

    known = session.call(ask)
    if name in known:
        return known[name]
    raise failed("not-found/policy", name=name, near=near(name, known))


def not_compliant(session: Session, policy: str, stores: Sequence[Any]) -> Mapping[str, str]:
    """Id of each of the datastores that does not comply with the policy -> why."""

    def ask() -> Any:
        hubs = [
            pbm.placement.PlacementHub(hubType="Datastore", hubId=store._moId) for store in stores
        ]
        profile = pbm.profile.ProfileId(uniqueId=policy)
        requirement = pbm.placement.CapabilityProfileRequirement(profileId=profile)
        return _content(session).placementSolver.CheckRequirements(
            hubsToSearch=hubs, placementSubjectRequirement=[requirement]
        )

    return {
        str(result.hub.hubId): "; ".join(
            str(getattr(fault, "msg", None) or type(fault).__name__) for fault in result.error
        )
        for result in session.call(ask)
        if result.error
    }


def _content(session: Session) -> Any:
    """The service with the current login of this session."""
    endpoint = session.endpoint
    (login,) = SimpleCookie(session.service._stub.cookie).values()
    stub = SoapStubAdapter(
        host=endpoint.server,
        # pyVmomi writes a port without TLS as a negative number (pyVim.connect).
        port=-endpoint.port if endpoint.plain_http else endpoint.port,
        path="/pbm",
        version=_VERSION,
        poolSize=0,
        sslContext=session.trust,
        httpConnectionTimeout=CALL_SECONDS,
        requestContext={"vcSessionCookie": login.value},
    )
    return pbm.ServiceInstance("ServiceInstance", stub).RetrieveContent()


def references(
    session: Session, datacenter: str, names: Mapping[str, tuple[str, str]]
) -> dict[str, str]:
    """vCenter's own references of objects, by the same keys. A name that leads to no object, or to
    several, is left out.

    Args:
        datacenter: Name or inventory path of the datacenter that they are in.
        names: Key -> kind and name (`objects.names_of`).
    """
    root, found = session.content.rootFolder, dict[str, str]()
    for key, (kind, name) in names.items():
        if kind == "server":
            found[key] = session.server_id
            continue
        center = name if kind == "datacenter" else datacenter
        item = _by_name_if_one(session, root, "datacenter", center)
        if item is not None and kind != "datacenter":
            item = _by_name_if_one(session, item, kind, name)
        if item is not None:
            found[key] = str(item._moId)
    return found
