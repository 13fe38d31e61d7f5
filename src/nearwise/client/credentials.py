"""Who we are to a cluster: tokens, files that are renewed, and credential plugins.

Law: a secret is a ``Secret`` from the moment it is read until it goes into a header or into TLS.
It shows itself to nobody, so no message, log or traceback can carry it.

Plugins speak ``client.authentication.k8s.io`` (KEP-541): we start a program, tell it about
ourselves in ``KUBERNETES_EXEC_INFO``, and it prints an ExecCredential with a token, a client
certificate, or both, and until when they hold.
"""

from __future__ import annotations

import base64
import os
import subprocess
import sys
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final, Protocol

import msgspec

from nearwise.client.errors import ClusterError
from nearwise.model.codec import from_dict
from nearwise.model.errors import InputError

_EXEC_VERSIONS: Final = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")
_SECRET_KEYS: Final = frozenset(
    ["token", "password", "client-key-data", "clientKeyData", "proxy-url"]
)
_EARLY: Final = timedelta(seconds=10)  # renew before the server's clock says it is over


class Secret:
    """A text that does not show itself."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        """Return the text, for a header or for TLS."""
        return self._text

    def __repr__(self) -> str:
        return "Secret(***)"

    def __bool__(self) -> bool:
        return bool(self._text)


class Identity(msgspec.Struct, frozen=True):
    """What we show to the server: an Authorization header, a client certificate (PEM), or both."""

    authorization: Secret | None = None
    certificate: str | None = None
    key: Secret | None = None


class Credentials(Protocol):
    """Gives our identity as it is now."""

    can_renew: bool
    """Whether asking again may bring something else."""

    def identity(self) -> Identity:
        """Return the identity; may read files or run a program. Raises ClusterError."""

    def renew(self) -> None:
        """Forget what the server did not accept."""


class Fixed:
    """An identity that stays: a token, a password or a certificate of the kubeconfig."""

    can_renew = False

    def __init__(self, identity: Identity) -> None:
        self._identity = identity

    def identity(self) -> Identity:
        """Return the identity."""
        return self._identity

    def renew(self) -> None:
        """Do nothing: there is nothing else to try."""


class TokenFile:
    """A token in a file that somebody renews, as service account tokens are."""

    can_renew = True

    def __init__(self, path: Path, otherwise: Identity) -> None:
        """Use ``otherwise`` for what the file does not say, and as long as it is not there."""
        self._path = path
        self._otherwise = otherwise

    def identity(self) -> Identity:
        """Return the identity with the token as the file has it now."""
        try:
            token = Secret(self._path.read_text())
        except (OSError, UnicodeDecodeError) as error:
            if self._otherwise.authorization is not None:
                return self._otherwise
            raise ClusterError(f"cannot read the token file {self._path}: {_why(error)}") from None
        return msgspec.structs.replace(self._otherwise, authorization=bearer(token))

    def renew(self) -> None:
        """Do nothing: the file is read each time."""


class _EnvironmentVariable(msgspec.Struct, frozen=True):
    """One variable that the plugin gets."""

    name: str
    value: str = ""


class PluginSpec(msgspec.Struct, frozen=True, rename="camel"):
    """The ``exec`` part of a kubeconfig's user."""

    command: str
    api_version: str
    args: tuple[str, ...] | None = None
    env: tuple[_EnvironmentVariable, ...] | None = None
    install_hint: str = ""
    interactive_mode: str = ""
    provide_cluster_info: bool = False


class _ExecStatus(msgspec.Struct, frozen=True, rename="camel"):
    expiration_timestamp: datetime | None = None
    token: Secret | None = None
    client_certificate_data: str | None = None
    client_key_data: Secret | None = None


class _ExecCredential(msgspec.Struct, frozen=True, rename="camel"):
    api_version: str
    kind: str
    status: _ExecStatus | None = None


class Plugin:
    """A program that gives out credentials; it is asked again when they have run out."""

    can_renew = True

    def __init__(self, spec: PluginSpec, cluster: Mapping[str, Any], otherwise: Identity) -> None:
        """``cluster`` is told to programs that want it, in the words of the protocol."""
        if spec.api_version not in _EXEC_VERSIONS:
            raise ClusterError(
                f"credential plugin {spec.command}: apiVersion {spec.api_version!r} is not "
                f"supported; use {_EXEC_VERSIONS[0]}"
            )
        self._spec = spec
        self._cluster = cluster
        self._otherwise = otherwise
        self._identity: Identity | None = None
        self._expires: datetime | None = None

    def identity(self) -> Identity:
        """Return the identity, running the program unless its last answer still holds."""
        now = datetime.now(UTC)
        if self._identity is None or (self._expires and self._expires - _EARLY <= now):
            status = self._run()
            self._identity = Identity(
                bearer(status.token) if status.token else self._otherwise.authorization,
                status.client_certificate_data or self._otherwise.certificate,
                status.client_key_data or self._otherwise.key,
            )
            self._expires = status.expiration_timestamp
            if self._expires and self._expires.tzinfo is None:
                self._expires = self._expires.replace(tzinfo=UTC)
        return self._identity

    def renew(self) -> None:
        """Have the program run again."""
        self._identity = None

    def _run(self) -> _ExecStatus:
        spec = self._spec
        interactive = self._is_interactive()
        told: dict[str, Any] = {"interactive": interactive}
        if spec.provide_cluster_info:
            told["cluster"] = self._cluster
        request = {"apiVersion": spec.api_version, "kind": "ExecCredential", "spec": told}
        environment = {
            **os.environ,
            **{each.name: each.value for each in spec.env or ()},
            "KUBERNETES_EXEC_INFO": msgspec.json.encode(request).decode(),
        }
        try:
            run = subprocess.run(  # the user's kubeconfig names the program, as for kubectl
                [spec.command, *(spec.args or ())],
                env=environment,
                stdin=None if interactive else subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                check=False,
            )
        except OSError as error:
            hint = f"\n{spec.install_hint.strip()}" if spec.install_hint.strip() else ""
            raise self._error(f"cannot be started: {_why(error)}{hint}") from None
        if run.returncode:
            raise self._error(f"ended with exit code {run.returncode}")
        return self._read(run.stdout)

    def _read(self, printed: bytes) -> _ExecStatus:
        """Check what the program printed; no message quotes it, for it holds secrets."""
        try:
            credential = from_dict(hide(msgspec.json.decode(printed)), _ExecCredential)
        except (msgspec.DecodeError, RecursionError, InputError) as error:
            where = f" ({error})" if isinstance(error, InputError) else ""
            raise self._error(f"did not print an ExecCredential{where}") from None
        if (credential.kind, credential.api_version) != ("ExecCredential", self._spec.api_version):
            raise self._error(
                f"printed a {credential.kind} of {credential.api_version}, "
                f"not an ExecCredential of {self._spec.api_version}"
            )
        status = credential.status
        if status is None or not (status.token or status.client_certificate_data):
            raise self._error("gave neither a token nor a client certificate")
        if bool(status.client_certificate_data) != bool(status.client_key_data):
            raise self._error("gave only one of client certificate and key")
        return status

    def _is_interactive(self) -> bool:
        """Say whether the program may ask the user something."""
        mode = self._spec.interactive_mode or "IfAvailable"
        if mode not in {"Never", "IfAvailable", "Always"}:
            raise self._error(f"interactiveMode {mode!r} is not Never, IfAvailable or Always")
        terminal = sys.stdin is not None and sys.stdin.isatty()
        if mode == "Always" and not terminal:
            raise self._error("wants to ask you something, but standard input is no terminal")
        return mode != "Never" and terminal

    def _error(self, what: str) -> ClusterError:
        return ClusterError(f"credential plugin {self._spec.command} {what}")


def bearer(token: Secret) -> Secret:
    """Return the Authorization header for a token."""
    return Secret("Bearer " + token.reveal().strip())


def basic(username: str, password: Secret) -> Secret:
    """Return the Authorization header for a name and a password (RFC 7617)."""
    pair = f"{username}:{password.reveal()}".encode()
    return Secret("Basic " + base64.b64encode(pair).decode())


def hide(plain: Any) -> Any:
    """Return plain dicts and lists with every text in them that is a secret as a Secret."""
    if isinstance(plain, list):
        return [hide(each) for each in plain]
    if not isinstance(plain, dict):
        return plain
    return {
        key: Secret(each) if key in _SECRET_KEYS and isinstance(each, str) else hide(each)
        for key, each in plain.items()
    }


def _why(error: Exception) -> str:
    return getattr(error, "strerror", None) or "it is not text"
