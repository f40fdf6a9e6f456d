"""Whom to trust: authorities, a pinned fingerprint, and what a wrong clock looks like."""

import socket
import ssl
import threading
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from gpufleet_vcenter.credentials import Credentials
from gpufleet_vcenter.session import Session, tls_context
from gpufleet_vcenter.settings import Endpoint
from tests.engine.vcenter_fixture import PASSWORD, USER
from tests.engine.vsphere.direct import UNCLOSED, Made, refused

pytestmark = UNCLOSED


def test_certificates(other: Made, tmp_path: Path) -> None:
    cloud = other(tls=True)
    server, port = "127.0.0.1", cloud.running.port
    pem = ssl.get_server_certificate((server, port))
    digest = x509.load_pem_x509_certificate(pem.encode()).fingerprint(hashes.SHA256())
    fingerprint = ":".join(f"{byte:02X}" for byte in digest)

    def login(**trust: Any) -> str:
        endpoint = Endpoint.model_validate({"server": server, "port": port, **trust})
        session = Session(endpoint, Credentials(USER, PASSWORD))
        assert not session.rest.ask("/tagging/category"), "REST trusts the same"
        session.close()
        return session.server_id

    assert login(thumbprintSha256=fingerprint)
    assert login(insecure=True)
    authority = tmp_path / "authority.pem"
    authority.write_text(pem)
    assert login(caCertFile=str(authority))

    untrusted = refused("vsphere-certificate", login)
    assert f"the certificate of {server}:{port} is not trusted" in untrusted
    assert f"it offers the SHA-256 fingerprint {fingerprint}" in untrusted
    wrong = "00:" + fingerprint[3:]
    pinned = refused("vsphere-certificate", lambda: login(thumbprintSha256=wrong))
    assert fingerprint in pinned, "the one offered"
    assert wrong in pinned
    missing = refused("vsphere-certificate", lambda: login(caCertFile=str(tmp_path / "none.pem")))
    assert "none.pem, cannot be used" in missing


def test_a_clock_that_is_behind_shows_in_the_certificate(tmp_path: Path) -> None:
    """A certificate that is not valid yet: the usual sign of a clock that is wrong."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "vcenter")])
    tomorrow = datetime.now(UTC) + timedelta(days=1)
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False
        )
        .not_valid_before(tomorrow)
        .not_valid_after(tomorrow + timedelta(days=1))
        .sign(key, hashes.SHA256())
    )
    both = tmp_path / "server.pem"
    both.write_bytes(
        certificate.public_bytes(serialization.Encoding.PEM)
        + key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(both)

    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            plain, _ = listening.accept()
            with plain, pytest.raises(OSError, match=r"."):
                context.wrap_socket(plain, server_side=True).recv(1)

        thread = threading.Thread(target=serve)
        thread.start()
        endpoint = Endpoint.model_validate(
            {
                "server": "127.0.0.1",
                "port": listening.getsockname()[1],
                "caCertFile": str(both),
            }
        )
        text = refused(
            "vsphere-certificate", lambda: Session(endpoint, Credentials(USER, PASSWORD)).close()
        )
        thread.join(10)
    assert "not yet valid" in text
    assert tls_context(endpoint).verify_mode is ssl.CERT_REQUIRED
