import datetime
import ipaddress
import ssl
from pathlib import Path

import pytest
from cryptography import x509

from gpufleet_sandbox import certificates, kubeconfig
from tests.examples import ALL, has_changed
from tests.reading import yaml_data

NOW = datetime.datetime(2026, 11, 21, tzinfo=datetime.UTC)


@pytest.fixture
def made(tmp_path: Path) -> certificates.Certificates:
    return certificates.ensure(tmp_path, NOW)


def load(path: Path) -> x509.Certificate:
    return x509.load_pem_x509_certificate(path.read_bytes())


def contents(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def test_a_sound_set_is_kept(made: certificates.Certificates) -> None:
    before = contents(made.folder)
    certificates.ensure(made.folder, NOW + datetime.timedelta(days=365))
    assert contents(made.folder) == before


def test_keys_are_private(made: certificates.Certificates) -> None:
    assert all(file.stat().st_mode & 0o077 == 0 for file in made.folder.iterdir())


def test_the_server_answers_to_its_names(made: certificates.Certificates) -> None:
    names = load(made.certificate("server")).extensions.get_extension_for_class(
        x509.SubjectAlternativeName
    )
    assert "kubernetes.default.svc" in names.value.get_values_for_type(x509.DNSName)
    assert ipaddress.ip_address("127.0.0.1") in names.value.get_values_for_type(x509.IPAddress)


def test_the_administrator_is_a_master(made: certificates.Certificates) -> None:
    subject = load(made.certificate("admin")).subject.rfc4514_string()
    assert "O=system:masters" in subject


def test_strict_verification_accepts_the_chain(made: certificates.Certificates) -> None:
    context = ssl.create_default_context(cafile=str(made.authority))
    context.verify_flags |= ssl.VERIFY_X509_STRICT
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(made.certificate("server"), made.key("server"))
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    here = context.wrap_bio(to_client, to_server, server_hostname="127.0.0.1")
    there = server.wrap_bio(to_server, to_client, server_side=True)
    waiting = [here, there]
    for _ in range(6):
        for side in list(waiting):
            try:
                side.do_handshake()
                waiting.remove(side)
            except ssl.SSLWantReadError:
                pass
    assert waiting == []


FILES = ("ca.crt", "server.key", "admin.crt", "service-account.pub")
DAMAGES = [(damage, file) for damage in ("missing", "truncated", "foreign") for file in FILES]


@pytest.mark.parametrize(
    ("damage", "file"), DAMAGES if ALL or has_changed("sandbox/certificates.py") else DAMAGES[::5]
)
def test_a_damaged_set_is_made_again(
    made: certificates.Certificates,
    tmp_path_factory: pytest.TempPathFactory,
    file: str,
    damage: str,
) -> None:
    path = made.folder / file
    if damage == "missing":
        path.unlink()
    elif damage == "truncated":
        path.write_bytes(path.read_bytes()[:40])
    else:
        other = certificates.ensure(tmp_path_factory.mktemp("other"), NOW)
        path.write_bytes((other.folder / file).read_bytes())
    certificates.ensure(made.folder, NOW)
    again = contents(made.folder)
    certificates.ensure(made.folder, NOW)
    assert contents(made.folder) == again
    load(made.certificate("admin")).verify_directly_issued_by(load(made.authority))


def test_a_set_close_to_its_end_is_made_again(made: certificates.Certificates) -> None:
    before = contents(made.folder)
    late = NOW + datetime.timedelta(days=3650 - 29)
    certificates.ensure(made.folder, late)
    assert contents(made.folder) != before


def test_kubeconfig_embeds_everything(made: certificates.Certificates) -> None:
    text = kubeconfig.render(made, "admin", 6443)
    (cluster,) = yaml_data(text)["clusters"]
    assert cluster["cluster"]["server"] == "https://127.0.0.1:6443"
    assert "client-key-data" in text
    assert str(made.folder) not in text
