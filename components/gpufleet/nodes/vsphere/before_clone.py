"""Everything that must hold before a clone, asked of vCenter."""

from gpufleet.nodes.vsphere.described import check_description
from gpufleet.nodes.vsphere.errors import Code, VsphereError
from gpufleet.nodes.vsphere.lookup import FoundPlace
from gpufleet.nodes.vsphere.observed import observe
from gpufleet.nodes.vsphere.preflight import (
    check_api,
    check_datastore,
    check_template,
    datastore_room,
)
from gpufleet.nodes.vsphere.privileges import check_privileges
from gpufleet.nodes.vsphere.session import Session
from gpufleet.nodes.vsphere.settings import NodeSettings


def check_before(
    session: Session, settings: NodeSettings, found: FoundPlace, count: int = 1
) -> str | None:
    """API, template, privileges and datastore for machines of this kind. Returns the id of the
    datastore they will be on; None when the template has none.

    Raises:
        VsphereError: something does not hold.
    """
    check_api(session, settings)
    template = observe(session, found.template)
    if template is None:
        raise VsphereError(
            Code.NOT_FOUND, f"template {settings.place.template} is gone", "name another template"
        )
    check_template(settings, template)
    store = found.datastore or (template.datastores[0] if template.datastores else None)
    check_privileges(session, settings, found, template, store)
    check_description(session, settings)
    if store is None:
        return None
    disk = max(template.disk_bytes, (settings.disk_gib or 0) << 30)
    check_datastore(settings, disk, datastore_room(session, store), count)
    return str(store._moId)
