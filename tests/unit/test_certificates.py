"""Certificates of the embedded server: what they say, who can read them, when they are made."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from socket import socketpair
from threading import Thread

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID

from nearwise.model.errors import InputError
from nearwise.server.certificates import Certificates, kept
from nearwise.server.serve import tls

NOW = datetime.now(UTC)
NAMES = ("kube.example", "192.0.2.7", "2001:db8::7")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "pki"


@pytest.fixture
def certificates(folder: Path) -> Certificates:
    return kept(folder, NAMES, NOW)


def load(path: Path) -> x509.Certificate:
    return x509.load_pem_x509_certificate(path.read_bytes())


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


# --- What clients accept --------------------------------------------------------------------


@contextmanager
def handshake(certificates: Certificates, name: str, *, strict: bool) -> Iterator[ssl.SSLSocket]:
    """Connect as a client that expects a server of this name."""
    client = ssl.create_default_context(cafile=certificates.authority)
    if strict:
        client.verify_flags |= ssl.VERIFY_X509_STRICT
    ours, theirs = socketpair()
    context = tls(certificates.certificate, certificates.key)

    def serve() -> None:
        try:
            with context.wrap_socket(theirs, server_side=True):
                pass
        except OSError:
            theirs.close()

    thread = Thread(target=serve)
    thread.start()
    try:
        with ours, client.wrap_socket(ours, server_hostname=name) as connection:
            yield connection
    finally:
        thread.join()


@pytest.mark.parametrize("strict", [False, True], ids=["lenient", "strict"])
@pytest.mark.parametrize("name", ["localhost", "127.0.0.1", "::1", *NAMES])
def test_a_client_accepts_the_server_under_each_of_its_names(
    certificates: Certificates, name: str, strict: bool
) -> None:
    with handshake(certificates, name, strict=strict) as connection:
        assert connection.version() == "TLSv1.3"


def test_a_client_refuses_the_server_under_another_name(certificates: Certificates) -> None:
    with (
        pytest.raises(ssl.SSLCertVerificationError, match="not valid for 'other"),
        handshake(certificates, "other.example", strict=False),
    ):
        pass


def test_what_go_and_strict_clients_ask_for_is_in_the_certificates(
    certificates: Certificates,
) -> None:
    authority, server = load(certificates.authority), load(certificates.certificate)

    own = authority.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
    for certificate in (authority, server):
        of = certificate.extensions.get_extension_for_class(x509.AuthorityKeyIdentifier).value
        assert of.key_identifier == own.digest
        assert certificate.extensions.get_extension_for_class(x509.KeyUsage).critical
        assert certificate.extensions.get_extension_for_class(x509.BasicConstraints).critical

    signs = authority.extensions.get_extension_for_class(x509.KeyUsage).value
    proves = server.extensions.get_extension_for_class(x509.KeyUsage).value
    assert (signs.key_cert_sign, signs.digital_signature) == (True, False)
    assert (proves.key_cert_sign, proves.digital_signature) == (False, True)
    purpose = server.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    assert list(purpose) == [ExtendedKeyUsageOID.SERVER_AUTH]
    assert authority.subject != server.subject


def test_they_are_good_for_a_client_whose_clock_is_a_little_behind(
    certificates: Certificates,
) -> None:
    assert load(certificates.certificate).not_valid_before_utc <= NOW - timedelta(minutes=4)
    assert load(certificates.authority).not_valid_before_utc <= NOW - timedelta(minutes=4)


# --- Who can read them ----------------------------------------------------------------------


def test_only_their_owner_can_read_them(certificates: Certificates, folder: Path) -> None:
    assert mode(folder) == 0o700
    assert {path.name: mode(path) for path in folder.iterdir()} == {
        "ca.crt": 0o600,
        "ca.key": 0o600,
        "server.crt": 0o600,
        "server.key": 0o600,
    }


# --- When they are made anew ----------------------------------------------------------------


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def changed(folder: Path, before: dict[str, bytes]) -> set[str]:
    return {name for name, content in contents(folder).items() if before.get(name) != content}


@pytest.mark.parametrize("names", [NAMES, (), NAMES[:1]], ids=["same", "none", "fewer"])
def test_they_stay_when_the_server_comes_back_under_names_they_have(
    certificates: Certificates, folder: Path, names: tuple[str, ...]
) -> None:
    before = contents(folder)
    assert kept(folder, names, NOW + timedelta(days=300)) == certificates
    assert changed(folder, before) == set()


def test_a_new_name_makes_a_new_certificate_of_the_same_authority(
    certificates: Certificates, folder: Path
) -> None:
    before = contents(folder)
    kept(folder, ["other.example"], NOW)
    assert changed(folder, before) == {"server.crt", "server.key"}
    with handshake(certificates, "other.example", strict=True):
        pass


def test_a_certificate_is_made_anew_a_month_before_its_end(
    certificates: Certificates, folder: Path
) -> None:
    before = contents(folder)
    kept(folder, NAMES, NOW + timedelta(days=336))
    assert changed(folder, before) == {"server.crt", "server.key"}


def test_they_are_made_anew_when_the_clock_was_set_back_before_their_time(folder: Path) -> None:
    wrong = kept(folder, NAMES, NOW + timedelta(days=400))
    too_early = load(wrong.certificate).not_valid_before_utc
    certificates = kept(folder, NAMES, NOW)
    for path in (certificates.authority, certificates.certificate):
        assert load(path).not_valid_before_utc <= NOW < too_early


def test_an_authority_near_its_end_is_replaced_with_all_that_it_signed(
    certificates: Certificates, folder: Path
) -> None:
    before = contents(folder)
    old = load(certificates.authority)
    kept(folder, NAMES, NOW + timedelta(days=3650 - 29))
    assert changed(folder, before) == {"ca.crt", "ca.key", "server.crt", "server.key"}
    assert load(certificates.authority).subject != old.subject
    load(certificates.certificate).verify_directly_issued_by(load(certificates.authority))


@pytest.mark.parametrize("missing", ["ca.crt", "ca.key", "server.crt", "server.key"])
def test_what_a_crash_has_left_unfinished_is_made_anew(
    certificates: Certificates, folder: Path, missing: str
) -> None:
    (folder / missing).unlink()
    kept(folder, NAMES, NOW)
    with handshake(certificates, "localhost", strict=True):
        pass


def test_a_certificate_of_another_authority_is_not_used(
    certificates: Certificates, folder: Path, tmp_path: Path
) -> None:
    other = kept(tmp_path / "other", NAMES, NOW)
    certificates.certificate.write_bytes(other.certificate.read_bytes())
    certificates.key.write_bytes(other.key.read_bytes())
    kept(folder, NAMES, NOW)
    with handshake(certificates, "localhost", strict=True):
        pass


# --- What is refused ------------------------------------------------------------------------


def test_a_file_that_is_no_certificate_is_named(certificates: Certificates, folder: Path) -> None:
    certificates.certificate.write_text("junk")
    with pytest.raises(InputError) as refused:
        kept(folder, NAMES, NOW)
    assert str(refused.value) == (
        f"{folder}/server.crt: is not a certificate that belongs to server.key "
        f"(remove {folder} to have new ones made)"
    )


def test_a_key_of_another_certificate_is_refused(certificates: Certificates, folder: Path) -> None:
    (folder / "ca.key").write_bytes(certificates.key.read_bytes())
    with pytest.raises(InputError, match=r"ca.crt: is not a certificate that belongs to ca.key"):
        kept(folder, NAMES, NOW)


def test_a_key_of_another_kind_is_refused(certificates: Certificates, folder: Path) -> None:
    key = Ed25519PrivateKey.generate()
    (folder / "ca.key").write_bytes(
        key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    )
    with pytest.raises(InputError, match=r"ca.crt: is not a certificate that belongs to ca.key"):
        kept(folder, NAMES, NOW)
