"""From resources that exist to the declaration that is already true."""

from gpufleet.adopt.adoption import Adoption, adopt

__all__ = ["Adoption", "adopt"]
