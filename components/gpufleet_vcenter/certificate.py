"""Trust in the certificate of the server: system authorities, a file, one fingerprint, or none."""

import hashlib
import ssl

from gpufleet_vcenter.errors import VsphereError, failed
from gpufleet_vcenter.settings import Endpoint

CONNECT_SECONDS = 20


def tls_context(endpoint: Endpoint) -> ssl.SSLContext:
    """A context for the endpoint.

    With a fingerprint, the certificate the server offers is compared first and is then the only one
    that this context accepts, so that no attacker can replace it afterwards. pyVmomi's own
    `thumbprint` is consulted only when ordinary verification fails, and never for localhost.

    Raises:
        VsphereError: the fingerprint differs (the text holds the one offered), the file with
            authorities cannot be read, or the server cannot be reached.
    """
    if endpoint.insecure:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        return context
    if endpoint.thumbprint_sha256 is not None:
        return _pinned(endpoint, endpoint.thumbprint_sha256)
    try:
        return ssl.create_default_context(cafile=endpoint.ca_cert_file)
    except OSError as problem:
        raise failed("certificate/authorities", endpoint=endpoint, problem=problem) from None


def _pinned(endpoint: Endpoint, fingerprint: str) -> ssl.SSLContext:
    offered, found = _offered(endpoint)
    if found != fingerprint:
        raise failed(
            "certificate/fingerprint", endpoint=endpoint, found=found, fingerprint=fingerprint
        )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False  # the certificate is pinned, so its names are irrelevant
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    context.load_verify_locations(cadata=offered)
    return context


def untrusted(endpoint: Endpoint, problem: ssl.SSLError) -> VsphereError:
    """Error: the server's certificate is not trusted; its text has the offered fingerprint."""
    try:
        offered = f"; it offers the SHA-256 fingerprint {_offered(endpoint)[1]}"
    except VsphereError:
        offered = ""  # no TLS with this client: no certificate to compare
    return failed(
        "certificate/untrusted",
        endpoint=endpoint,
        why=getattr(problem, "verify_message", "") or problem.reason or problem,
        offered=offered,
    )


def _offered(endpoint: Endpoint) -> tuple[str, str]:
    """The certificate, and its fingerprint."""
    try:
        address = (endpoint.server, endpoint.port)
        found = ssl.get_server_certificate(address, timeout=CONNECT_SECONDS)
    except OSError as problem:
        raise failed("connection/unreachable", endpoint=endpoint, problem=problem) from None
    digest = hashlib.sha256(ssl.PEM_cert_to_DER_cert(found)).digest()
    return found, digest.hex(":").upper()
