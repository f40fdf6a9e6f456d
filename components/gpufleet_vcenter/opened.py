"""From the inputs of a resource to a login and a machine's identity."""

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Any

from pulumi.dynamic import ConfigureRequest, ResourceProvider

from gpufleet_vcenter.credentials import StackSettings, credentials
from gpufleet_vcenter.errors import VsphereError
from gpufleet_vcenter.lookup import datacenter_of
from gpufleet_vcenter.outputs import CUSTOM_TIMEOUT, OBSERVED, SECRETS, digest_name
from gpufleet_vcenter.session import Session, session_for
from gpufleet_vcenter.settings import Endpoint, NodeSettings, problems, problems_of
from gpufleet_vcenter.tasks import in_words

_OUTPUT_ONLY = OBSERVED | {"__provider", CUSTOM_TIMEOUT, *map(digest_name, SECRETS)}


class VsphereProvider(ResourceProvider):
    """Base class of the providers of vSphere."""

    def configure(self, req: ConfigureRequest) -> None:
        """Keep the way to the stack's settings, of which nothing is read yet."""
        StackSettings.read = req.config.get


def declared(properties: Mapping[str, Any]) -> dict[str, Any]:
    """The inputs among inputs or outputs."""
    return {key: value for key, value in properties.items() if key not in _OUTPUT_ONLY}


def read_settings(given: Mapping[str, Any]) -> NodeSettings:
    """The inputs of a machine, or the part of them in the state.

    Raises:
        VsphereError: they are not usable; the text names each problem and no secret.
    """
    known = declared(given)
    seconds = given.get(CUSTOM_TIMEOUT)
    wrong = problems(known)
    if wrong:
        listed = "; ".join(f"{path}: {reason}" for path, reason in wrong)
        raise VsphereError("vsphere-fault", f"the inputs are not usable: {listed}")
    settings = NodeSettings.model_validate(known)
    if seconds is None:
        return settings
    limits = {
        key: min(value, int(seconds)) for key, value in settings.timeouts.model_dump().items()
    }
    timeouts = settings.timeouts.model_copy(update=limits)
    return settings.model_copy(update={"timeouts": timeouts})


def logged_in(endpoint: Endpoint) -> Session:
    """The process's login to the vCenter.

    Raises:
        VsphereError: there are no credentials, or the vCenter cannot be talked to.
    """
    with in_words(f"logging in to {endpoint.server}"):
        return session_for(endpoint, credentials(endpoint.credentials_key))


@contextmanager
def asked(
    endpoint: Mapping[str, Any], datacenter: str, doing: str
) -> Generator[tuple[Session, Any]]:
    """A login and the datacenter, outside a deployment.

    Raises:
        VsphereError: the vCenter cannot be reached, or the name is not found.
    """
    session = logged_in(addressed(endpoint))
    with in_words(doing):
        yield session, datacenter_of(session, datacenter)


def addressed(endpoint: Mapping[str, Any]) -> Endpoint:
    """The vCenter that these fields name.

    Args:
        endpoint: Fields of `Endpoint`, camelCase; None: absent.

    Raises:
        VsphereError: a field is invalid; the text names each.
    """
    given = {k: v for k, v in endpoint.items() if v is not None}
    if found := problems_of(Endpoint, given):
        wrong = "; ".join(f"{path or 'endpoint'}: {reason}" for path, reason in found)
        raise VsphereError("vsphere-fault", f"the vCenter cannot be addressed: {wrong}")
    return Endpoint.model_validate(given)
