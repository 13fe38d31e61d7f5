"""Certificates of the embedded API server: an authority of its own, and what it signs.

Law: private keys are in files with mode 0600 in a folder with mode 0700, and nowhere else. The
authority stays, so that a kubeconfig that was handed out stays good; what it signed is made anew
when it is near its end or lacks a name. The extensions are those that Python's strict check
(``VERIFY_X509_STRICT``, on by default since 3.13) and Go ask for (RFC 5280, section 4.2).

``cryptography`` takes 70 ms to import, so who only serves does not import this file.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final, NamedTuple

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from cryptography.x509.oid import ExtendedKeyUsageOID

from nearwise.model.errors import InputError
from nearwise.server.private import write_private

LOCAL: Final = ("localhost", "127.0.0.1", "::1")
"""What every server certificate is for."""

_AUTHORITY_LASTS: Final = timedelta(days=3650)
_SERVER_LASTS: Final = timedelta(days=365)
_RENEWED_BEFORE_END: Final = timedelta(days=30)
_SKEW: Final = timedelta(minutes=5)  # a client's clock may be behind ours


class Certificates(NamedTuple):
    """Where the certificates are, as PEM files."""

    authority: Path
    """What clients have to trust."""
    certificate: Path
    key: Path


def kept(folder: Path, names: Iterable[str], now: datetime) -> Certificates:
    """Return the certificates in a folder, made or made anew where that is needed.

    ``names`` are host names and addresses by which the server is reached, besides ``LOCAL``;
    ``now`` is in UTC. InputError when a file there is not what it should be.
    """
    wanted = {*LOCAL, *names}
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    authority_files = _Files(folder / "ca.crt", folder / "ca.key")
    server_files = _Files(folder / "server.crt", folder / "server.key")
    authority = authority_files.read()
    if authority is None or not authority.lasts(now):
        authority = authority_files.write(_new_authority(now))
    server = server_files.read()
    if server is None or not (
        server.lasts(now) and server.is_from(authority) and server.names() >= wanted
    ):
        server_files.write(_new_server(authority, wanted, now))
    return Certificates(authority_files.certificate, server_files.certificate, server_files.key)


# --- A certificate and its key ------------------------------------------------------------


class _Identity(NamedTuple):
    """A certificate and the key that it vouches for."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey

    def lasts(self, now: datetime) -> bool:
        """Tell whether it is good, and for a while; before its time, the clock was set back."""
        one = self.certificate
        return one.not_valid_before_utc <= now < one.not_valid_after_utc - _RENEWED_BEFORE_END

    def is_from(self, authority: _Identity) -> bool:
        """Tell whether the authority signed it."""
        try:
            self.certificate.verify_directly_issued_by(authority.certificate)
        except (ValueError, TypeError, InvalidSignature):
            return False
        return True

    def names(self) -> set[str]:
        """Return what it is for."""
        extensions = self.certificate.extensions
        named = extensions.get_extension_for_class(x509.SubjectAlternativeName)
        return {str(name.value) for name in named.value}


class _Files(NamedTuple):
    """Where a certificate and its key are."""

    certificate: Path
    key: Path

    def read(self) -> _Identity | None:
        """Return what is in them, None unless both are there; InputError for anything else."""
        if not (self.certificate.exists() and self.key.exists()):
            return None
        try:
            certificate = x509.load_pem_x509_certificate(self.certificate.read_bytes())
            key = load_pem_private_key(self.key.read_bytes(), None)
        except (ValueError, TypeError):
            raise self._broken() from None
        if not isinstance(key, ec.EllipticCurvePrivateKey):
            raise self._broken()
        if key.public_key() != certificate.public_key():
            raise self._broken()
        return _Identity(certificate, key)

    def write(self, identity: _Identity) -> _Identity:
        """Replace both. Broken off at any moment, they are a pair or the certificate is missing."""
        self.certificate.unlink(missing_ok=True)
        private = (Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        write_private(self.key, identity.key.private_bytes(*private))
        write_private(self.certificate, identity.certificate.public_bytes(Encoding.PEM))
        return identity

    def _broken(self) -> InputError:
        return InputError(
            f"is not a certificate that belongs to {self.key.name}",
            source=str(self.certificate),
            hint=f"remove {self.certificate.parent} to have new ones made",
        )


# --- New ones -----------------------------------------------------------------------------


def _new_authority(now: datetime) -> _Identity:
    extensions: dict[x509.ExtensionType, bool] = {
        x509.BasicConstraints(ca=True, path_length=0): True,
        _usage(signs=True): True,
    }
    # Two authorities must not have one name: a client would take one for the other.
    return _new(f"nearwise-ca@{now:%Y-%m-%dT%H:%M:%SZ}", None, extensions, now, _AUTHORITY_LASTS)


def _new_server(authority: _Identity, names: Iterable[str], now: datetime) -> _Identity:
    extensions: dict[x509.ExtensionType, bool] = {
        x509.BasicConstraints(ca=False, path_length=None): True,
        _usage(signs=False): True,
        x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]): False,
        x509.SubjectAlternativeName([_general_name(name) for name in sorted(names)]): False,
    }
    return _new("nearwise", authority, extensions, now, _SERVER_LASTS)


def _new(
    name: str,
    authority: _Identity | None,
    extensions: Mapping[x509.ExtensionType, bool],
    now: datetime,
    lasts: timedelta,
) -> _Identity:
    """Make a key and have its certificate signed, by itself when there is no authority.

    ``extensions`` says of each whether it is critical; the identifiers of both keys are added.
    """
    key = ec.generate_private_key(ec.SECP256R1())
    public, signer = key.public_key(), authority.key if authority else key
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(authority.certificate.subject if authority else subject)
        .public_key(public)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _SKEW)
        .not_valid_after(now + lasts)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
    )
    issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key())
    for extension, critical in {**extensions, issuer: False}.items():
        builder = builder.add_extension(extension, critical)
    return _Identity(builder.sign(signer, SHA256()), key)


def _usage(*, signs: bool) -> x509.KeyUsage:
    """Return what a key may be used for: to sign certificates, or to prove who a server is."""
    return x509.KeyUsage(
        digital_signature=not signs,
        key_cert_sign=signs,
        crl_sign=signs,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _general_name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)
