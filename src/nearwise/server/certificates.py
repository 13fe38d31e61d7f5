"""Certificates of the embedded API server: an authority of its own, and what it signs.

Law: private keys are in files with mode 0600 in a folder with mode 0700, and nowhere else. The
authority stays, so that a kubeconfig that was handed out stays good; what it signed is made anew
when it is near its end or lacks a name. The extensions are those that Python's strict check
(``VERIFY_X509_STRICT``, on by default since 3.13) and Go ask for (RFC 5280, section 4.2).
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

if TYPE_CHECKING:  # it takes a tenth of a second to import
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
    from cryptography.x509 import Certificate, CertificateBuilder

LOCAL: Final = ("localhost", "127.0.0.1", "::1")
"""What every server certificate is for."""

_AUTHORITY: Final = "nearwise"
_AUTHORITY_LASTS: Final = timedelta(days=3650)
_SERVER_LASTS: Final = timedelta(days=365)
_RENEWED_BEFORE_END: Final = timedelta(days=30)
_SKEW: Final = timedelta(minutes=5)  # of clocks: certificates are good a little before they are made


class Certificates(NamedTuple):
    """Where the certificates are, all of them PEM files."""

    authority: Path
    """What clients trust."""
    certificate: Path
    key: Path

    def context(self) -> ssl.SSLContext:
        """Return the server's side of TLS, 1.2 and later."""
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
    wanted = frozenset([*LOCAL, *names])
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    authority = _Pair(folder / "ca.crt", folder / "ca.key")
    server = _Pair(folder / "server.crt", folder / "server.key")
    if not authority.lasts(now):
        authority.write(*_new_authority(now))
        server.remove()
    if not (server.lasts(now) and _names(server.read()[0]) >= wanted):
        server.write(*_new_server(*authority.read(), wanted, now))
    return Certificates(authority.certificate, server.certificate, server.key)


class _Pair(NamedTuple):
    """A certificate and its key in two files."""

    certificate: Path
    key: Path

    def read(self) -> tuple[Certificate, EllipticCurvePrivateKey]:
        """Return both; InputError when they are not a pair."""
        from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
        from cryptography.hazmat.primitives.serialization import load_pem_private_key
        from cryptography.x509 import load_pem_x509_certificate

        try:
            certificate = load_pem_x509_certificate(self.certificate.read_bytes())
            key = load_pem_private_key(self.key.read_bytes(), None)
        except (ValueError, TypeError):
            raise self._broken() from None
        if not isinstance(key, EllipticCurvePrivateKey):
            raise self._broken()
        if key.public_key() != certificate.public_key():
            raise self._broken()
        return certificate, key

    def lasts(self, now: datetime) -> bool:
        """Tell whether they are there and good for a while."""
        if not (self.certificate.exists() and self.key.exists()):
            return False
        return self.read()[0].not_valid_after_utc - now > _RENEWED_BEFORE_END

    def write(self, certificate: Certificate, key: EllipticCurvePrivateKey) -> None:
        """Write both, each whole or not at all; the certificate last, for it vouches."""
        from cryptography.hazmat.primitives import serialization

        self.remove()
        _write(
            self.key,
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            ),
        )
        _write(self.certificate, certificate.public_bytes(serialization.Encoding.PEM))

    def remove(self) -> None:
        """Remove both, so that there is never one with another's other half."""
        self.certificate.unlink(missing_ok=True)
        self.key.unlink(missing_ok=True)

    def _broken(self) -> InputError:
        return InputError(
            f"is not a certificate that belongs to {self.key.name}",
            source=str(self.certificate),
            hint=f"remove {self.certificate.parent} to have new ones made",
        )


def _write(path: Path, content: bytes) -> None:
    """Write a file that only its owner may read."""
    new = path.with_suffix(f"{path.suffix}.new")
    new.unlink(missing_ok=True)
    with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)


# --- Making them --------------------------------------------------------------------------


def _new_authority(now: datetime) -> tuple[Certificate, EllipticCurvePrivateKey]:
    from cryptography import x509

    key = _new_key()
    builder = (
        _builder(f"{_AUTHORITY}-ca@{int(now.timestamp())}", key, now, _AUTHORITY_LASTS)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs_certificates=True), critical=True)
    )
    return _signed(builder, builder_name(builder), key), key


def _new_server(
    authority: Certificate, authority_key: EllipticCurvePrivateKey, names: Iterable[str], now: datetime
) -> tuple[Certificate, EllipticCurvePrivateKey]:
    raise NotImplementedError
