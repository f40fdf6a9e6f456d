"""Everything that must hold before a clone, asked of vCenter."""

from gpufleet.platforms.vsphere.vcenter.described import check_description
from gpufleet.platforms.vsphere.vcenter.errors import Code, VsphereError
from gpufleet.platforms.vsphere.vcenter.lookup import FoundPlace
from gpufleet.platforms.vsphere.vcenter.observed import observe
from gpufleet.platforms.vsphere.vcenter.placement import Reach
from gpufleet.platforms.vsphere.vcenter.preflight import check_api, check_template
from gpufleet.platforms.vsphere.vcenter.privileges import check_privileges
from gpufleet.platforms.vsphere.vcenter.session import Session
from gpufleet.platforms.vsphere.vcenter.settings import NodeSettings
from gpufleet.platforms.vsphere.vcenter.storage import check_storage, sizes


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
