"""Certificates of the embedded API server: an authority of its own, and what it signs.

Law: private keys are in files with mode 0600 in a folder with mode 0700, and nowhere else. The
authority stays, so that a kubeconfig that was handed out stays good; what it signed is made anew
when it is near its end or lacks a name. The extensions are those that Python's strict check
(``VERIFY_X509_STRICT``, on by default since 3.13) and Go ask for (RFC 5280, section 4.2).

``cryptography`` takes 70 ms to import, so it is imported when a certificate is read or made.
"""

from __future__ import annotations

import ipaddress
import os
import ssl
from collections.abc import Iterable
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from nearwise.model.errors import InputError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
    from cryptography.x509 import Certificate, GeneralName, KeyUsage

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

    def context(self) -> ssl.SSLContext:
        """Return the server's side of TLS."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.set_alpn_protocols(["http/1.1"])
        context.load_cert_chain(self.certificate, self.key)
        return context


def kept(folder: Path, names: Iterable[str], now: datetime) -> Certificates:
    """Return the certificates in a folder, made or made anew where that is needed.

    ``names`` are host names and addresses by which the server is reached, besides ``LOCAL``;
    ``now`` is in UTC. InputError when a file there is not what it should be.
    """
    wanted = {*LOCAL, *names}
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    authority_files = _Pair(folder / "ca.crt", folder / "ca.key")
    server_files = _Pair(folder / "server.crt", folder / "server.key")
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


class _Signer(NamedTuple):
    """A certificate and the key that it speaks of."""

    certificate: Certificate
    key: EllipticCurvePrivateKey

    def lasts(self, now: datetime) -> bool:
        """Tell whether it is good for a while."""
        return self.certificate.not_valid_after_utc - now > _RENEWED_BEFORE_END

    def is_from(self, authority: _Signer) -> bool:
        """Tell whether the authority signed it."""
        from cryptography.exceptions import InvalidSignature

        try:
            self.certificate.verify_directly_issued_by(authority.certificate)
        except (ValueError, TypeError, InvalidSignature):
            return False
        return True

    def names(self) -> set[str]:
        """Return what it is for."""
        from cryptography.x509 import SubjectAlternativeName

        named = self.certificate.extensions.get_extension_for_class(SubjectAlternativeName)
        return {str(name.value) for name in named.value}


class _Pair(NamedTuple):
    """The two files of a certificate and its key."""

    certificate: Path
    key: Path

    def read(self) -> _Signer | None:
        """Return what is in them, None unless both are there; InputError for anything else."""
        from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
        from cryptography.hazmat.primitives.serialization import load_pem_private_key
        from cryptography.x509 import load_pem_x509_certificate

        if not (self.certificate.exists() and self.key.exists()):
            return None
        try:
            certificate = load_pem_x509_certificate(self.certificate.read_bytes())
            key = load_pem_private_key(self.key.read_bytes(), None)
        except (ValueError, TypeError):
            raise self._broken() from None
        if not isinstance(key, EllipticCurvePrivateKey):
            raise self._broken()
        if key.public_key() != certificate.public_key():
            raise self._broken()
        return _Signer(certificate, key)

    def write(self, signer: _Signer) -> _Signer:
        """Replace both. If it is broken off, one is missing; they never do not belong together."""
        from cryptography.hazmat.primitives import serialization

        self.certificate.unlink(missing_ok=True)
        _write(
            self.key,
            signer.key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            ),
        )
        _write(self.certificate, signer.certificate.public_bytes(serialization.Encoding.PEM))
        return signer

    def _broken(self) -> InputError:
        return InputError(
            f"is not a certificate that belongs to {self.key.name}",
            source=str(self.certificate),
            hint=f"remove {self.certificate.parent} to have new ones made",
        )


def _write(path: Path, content: bytes) -> None:
    """Write a file that only its owner may read, whole or not at all."""
    new = path.with_name(f"{path.name}.new")
    new.unlink(missing_ok=True)
    with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)


# --- New ones -----------------------------------------------------------------------------


def _new_authority(now: datetime) -> _Signer:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    constraints = x509.BasicConstraints(ca=True, path_length=0)
    usage = _usage(signs=True)
    return _signed("nearwise-ca", key, None, constraints, (usage,), now, _AUTHORITY_LASTS)


def _new_server(authority: _Signer, names: Iterable[str], now: datetime) -> _Signer:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import ExtendedKeyUsageOID

    key = ec.generate_private_key(ec.SECP256R1())
    constraints = x509.BasicConstraints(ca=False, path_length=None)
    for_ = x509.SubjectAlternativeName([_general_name(name) for name in sorted(names)])
    purpose = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH])
    extensions = (_usage(signs=False), purpose, for_)
    lasts = min(_SERVER_LASTS, authority.certificate.not_valid_after_utc - now)
    return _signed("nearwise", key, authority, constraints, extensions, now, lasts)


def _signed(
    name: str,
    key: EllipticCurvePrivateKey,
    authority: _Signer | None,
    constraints: object,
    extensions: Iterable[object],
    now: datetime,
    lasts: timedelta,
) -> _Signer:
    raise NotImplementedError


def _usage(*, signs: bool) -> KeyUsage:
    raise NotImplementedError


def _general_name(name: str) -> GeneralName:
    from cryptography import x509

    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)
