"""The keys of one control plane: one authority, one server certificate, one per client.

Elliptic-curve keys for TLS because they cost nothing to make; RSA for service account tokens, as
the API server documents it. Everything is checked on each start and made again when anything is
missing, foreign, damaged or close to its end: a half-written set heals itself.
"""

import datetime
import ipaddress
import os
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_VALID = datetime.timedelta(days=3650)
_RENEW_BEFORE = datetime.timedelta(days=30)
_NAMES = (
    "localhost",
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
)
_ADDRESSES = ("127.0.0.1", "10.0.0.1")
"""Loopback, and the first address of the service range: that of the `kubernetes` Service."""


@dataclass(frozen=True, slots=True)
class CertificateSubject:
    """Subject of a certificate."""

    file: str
    """Stem of the certificate and key files."""
    common_name: str
    organization: str | None = None
    """Kubernetes reads it as the group."""
    server: bool = False
    """Whether it also serves: it then carries the names and addresses of this machine."""


IDENTITIES = (
    CertificateSubject("server", "kube-apiserver", server=True),
    CertificateSubject("admin", "admin", "system:masters"),
    CertificateSubject("controller-manager", "system:kube-controller-manager"),
    CertificateSubject("scheduler", "system:kube-scheduler"),
    CertificateSubject("front-proxy", "front-proxy-client"),
)


@dataclass(frozen=True, slots=True)
class Certificates:
    """The files of one set."""

    folder: Path

    @property
    def authority(self) -> Path:
        """The authority's certificate: what clients trust."""
        return self.folder / "ca.crt"

    @property
    def authority_key(self) -> Path:
        """The authority's key: signs certificate requests inside the cluster."""
        return self.folder / "ca.key"

    @property
    def service_account_key(self) -> Path:
        """Private key that signs service account tokens."""
        return self.folder / "service-account.key"

    @property
    def service_account_public_key(self) -> Path:
        """Public key that checks service account tokens."""
        return self.folder / "service-account.pub"

    def certificate(self, stem: str) -> Path:
        """Certificate of one identity."""
        return self.folder / f"{stem}.crt"

    def key(self, stem: str) -> Path:
        """Private key of one identity."""
        return self.folder / f"{stem}.key"


def ensure(folder: Path, now: datetime.datetime) -> Certificates:
    """The set in `folder`, made or made again when it is not sound for another 30 days."""
    certificates = Certificates(folder)
    if not _sound(certificates, now):
        _make(certificates, now)
    return certificates


def _sound(certificates: Certificates, now: datetime.datetime) -> bool:
    try:
        authority = x509.load_pem_x509_certificate(certificates.authority.read_bytes())
        if not _matches(authority, certificates.authority_key) or _ending(authority, now):
            return False
        for identity in IDENTITIES:
            leaf = x509.load_pem_x509_certificate(
                certificates.certificate(identity.file).read_bytes()
            )
            leaf.verify_directly_issued_by(authority)
            if not _matches(leaf, certificates.key(identity.file)) or _ending(leaf, now):
                return False
        private = _private(certificates.service_account_key)
        return _public_bytes(private) == certificates.service_account_public_key.read_bytes()
    except (OSError, ValueError, TypeError, InvalidSignature):
        return False  # any error of a file is fixed by a new set


def _ending(certificate: x509.Certificate, now: datetime.datetime) -> bool:
    starts, ends = certificate.not_valid_before_utc, certificate.not_valid_after_utc
    return now < starts or now + _RENEW_BEFORE > ends


def _private(path: Path) -> ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey:
    key = serialization.load_pem_private_key(path.read_bytes(), password=None)
    if not isinstance(key, ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey):
        raise TypeError(f"{path} holds a {type(key).__name__}")
    return key


def _public_bytes(key: ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey) -> bytes:
    return key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )


def _matches(certificate: x509.Certificate, key: Path) -> bool:
    public = certificate.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    return public == _public_bytes(_private(key))


def _make(certificates: Certificates, now: datetime.datetime) -> None:
    certificates.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    authority_key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "gpufleet-sandbox")])
    usage = x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=True,
        crl_sign=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )
    authority = (
        _builder(name, name, authority_key, now)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(
            x509.SubjectKeyIdentifier.from_public_key(authority_key.public_key()), critical=False
        )
        .sign(authority_key, hashes.SHA256())
    )
    _write_key(certificates.authority_key, authority_key)
    _write(certificates.authority, authority.public_bytes(serialization.Encoding.PEM))
    for identity in IDENTITIES:
        key = ec.generate_private_key(ec.SECP256R1())
        leaf = _leaf(identity, key, authority, now).sign(authority_key, hashes.SHA256())
        _write_key(certificates.key(identity.file), key)
        _write(
            certificates.certificate(identity.file), leaf.public_bytes(serialization.Encoding.PEM)
        )
    tokens = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    _write_key(certificates.service_account_key, tokens)
    _write(certificates.service_account_public_key, _public_bytes(tokens))


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    now: datetime.datetime,
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        # An hour of slack: clocks of virtual machines jump back after a resume.
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + _VALID)
    )


def _leaf(
    identity: CertificateSubject,
    key: ec.EllipticCurvePrivateKey,
    authority: x509.Certificate,
    now: datetime.datetime,
) -> x509.CertificateBuilder:
    subject = [x509.NameAttribute(NameOID.COMMON_NAME, identity.common_name)]
    if identity.organization:
        subject.append(x509.NameAttribute(NameOID.ORGANIZATION_NAME, identity.organization))
    purposes = [ExtendedKeyUsageOID.CLIENT_AUTH]
    if identity.server:
        purposes.append(ExtendedKeyUsageOID.SERVER_AUTH)
    builder = (
        _builder(x509.Name(subject), authority.subject, key, now)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.ExtendedKeyUsage(purposes), critical=False)
        # Python 3.13 refuses a certificate that does not name the key that signed it.
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(_elliptic(authority)),
            critical=False,
        )
    )
    if identity.server:
        names = [x509.DNSName(name) for name in _NAMES]
        addresses = [x509.IPAddress(ipaddress.ip_address(address)) for address in _ADDRESSES]
        builder = builder.add_extension(
            x509.SubjectAlternativeName([*names, *addresses]), critical=False
        )
    return builder


def _elliptic(certificate: x509.Certificate) -> ec.EllipticCurvePublicKey:
    key = certificate.public_key()
    assert isinstance(key, ec.EllipticCurvePublicKey), "we made it ourselves a line ago"
    return key


def _write_key(path: Path, key: ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey) -> None:
    _write(
        path,
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        ),
    )


def _write(path: Path, content: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
