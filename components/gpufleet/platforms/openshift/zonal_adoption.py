"""Pools on OpenShift on a cloud from MachineSets, one for each zone."""

from gpufleet.documents.shapes import mapping
from gpufleet.fleet.config_names import POOL_LABEL
from gpufleet.fleet.observed import ObservedResource
from gpufleet.platforms.openshift.adoption import OpenShiftAdoption


class OpenShiftCloudAdoption(OpenShiftAdoption):
    """MachineSets in the zones of a region."""

    def group(self, one: ObservedResource) -> str:
        """The pool's label; a set without it is a pool of its own."""
        metadata = mapping(one.properties.get("metadata"))
        return str(mapping(metadata.get("labels")).get(POOL_LABEL) or metadata.get("name"))
