"""From existing resources to the declaration that describes them."""

from gpufleet.adopt.adoption import Adoption, adopt

__all__ = ["Adoption", "adopt"]
