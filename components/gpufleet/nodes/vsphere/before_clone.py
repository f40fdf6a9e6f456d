"""Everything that must hold before a clone, asked of vCenter."""

from gpufleet.nodes.vsphere.described import check_description
from gpufleet.nodes.vsphere.errors import Code, VsphereError
from gpufleet.nodes.vsphere.lookup import FoundPlace
from gpufleet.nodes.vsphere.observed import observe
from gpufleet.nodes.vsphere.placement import Reach
from gpufleet.nodes.vsphere.preflight import check_api, check_template
from gpufleet.nodes.vsphere.privileges import check_privileges
from gpufleet.nodes.vsphere.session import Session
from gpufleet.nodes.vsphere.settings import NodeSettings
from gpufleet.nodes.vsphere.storage import check_storage, sizes


def check_before(
    session: Session, settings: NodeSettings, found: FoundPlace, count: int = 1
) -> tuple[Reach, int]:
    """API, template, privileges and datastores for machines of this kind. Returns what their hosts
    must reach, and the bytes of a machine's disks on its own datastore.

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
    check_privileges(session, settings, found, template)
    check_description(session, settings)
    stores = check_storage(session, settings, found, template, count)
    wanted = (wish.network for wish in found.adapters if wish.network is not None)
    networks = frozenset(str(network.reference._moId) for network in wanted)
    return Reach(stores, networks), sizes(settings, template)[None]
