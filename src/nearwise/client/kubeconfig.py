"""How to reach a cluster: kubeconfig files, or the service account of the pod we run in.

Files merge as kubectl merges them: ``--kubeconfig`` alone, else the files of ``KUBECONFIG`` where
the first to name an entry wins, else ``~/.kube/config``. Relative paths are relative to the file
that has them. Without any configuration, and in a pod, the pod's service account is used.
"""

from __future__ import annotations

import base64
import binascii
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final, Generic, TypeVar
from urllib.parse import SplitResult, urlsplit

import msgspec

from nearwise.client.credentials import (
    Credentials,
    Fixed,
    Identity,
    Plugin,
    PluginSpec,
    Secret,
    TokenFile,
    basic,
    bearer,
    hide,
)
from nearwise.client.errors import ClusterError
from nearwise.model import yamltree
from nearwise.model.codec import from_dict
from nearwise.model.errors import InputError

_SERVICE_ACCOUNT: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")
_PLUGIN_CONFIG: Final = "client.authentication.k8s.io/exec"  # cluster extension, for the plugin
_INSTEAD_OF_PROVIDER: Final = {
    "gcp": "install gke-gcloud-auth-plugin and get the credentials again with gcloud",
    "azure": "run: kubelogin convert-kubeconfig",
    "oidc": "use an exec plugin, such as kubectl oidc-login",
}


class Access(msgspec.Struct, frozen=True):
    """Everything needed to talk to one cluster."""

    server: str
    origin: str  # where this comes from, for messages
    credentials: Credentials
    namespace: str = "default"
    authority: str | None = None  # PEM; None: the system's certificate authorities
    insecure: bool = False  # do not check the server's certificate
    tls_server_name: str | None = None
    proxy: Secret | None = None  # its address may hold a password
    headers: tuple[tuple[str, str], ...] = ()  # impersonation


def find_access(
    kubeconfig: str | None = None, context: str | None = None, *, instead: str = ""
) -> Access:
    """Return how to reach the cluster of this context, or of the current one.

    ``instead`` is what else the user could do if there is none. Raises ClusterError, which names
    the file and the entry that is wrong.
    """
    paths = _paths(kubeconfig)
    files = {path: _read(path) for path in paths if kubeconfig or path.exists()}
    if any(file.contexts or file.clusters or file.users for file in files.values()):
        return _Merged(files).access(context)
    if not kubeconfig and not context and "KUBERNETES_SERVICE_HOST" in os.environ:
        return _in_cluster()
    raise ClusterError(
        f"no cluster to talk to: {', '.join(map(str, paths))} "
        f"{'names none' if files else 'does not exist'}; "
        f"name a kubeconfig with --kubeconfig{instead}"
    )


# --- The files ------------------------------------------------------------------------------


class _Entry(msgspec.Struct, frozen=True, rename="kebab"):
    """Base of what a kubeconfig holds."""


class _Extension(_Entry, frozen=True):
    name: str
    extension: Any = None


class _Cluster(_Entry, frozen=True):
    server: str = ""
    certificate_authority: str = ""
    certificate_authority_data: str = ""
    insecure_skip_tls_verify: bool = False
    tls_server_name: str = ""
    proxy_url: Secret | None = None
    extensions: tuple[_Extension, ...] | None = None


class _AuthProvider(_Entry, frozen=True):
    name: str = ""


class _User(_Entry, frozen=True):
    token: Secret | None = None
    token_file: str = msgspec.field(default="", name="tokenFile")
    client_certificate: str = ""
    client_certificate_data: str = ""
    client_key: str = ""
    client_key_data: Secret | None = None
    username: str = ""
    password: Secret | None = None
    exec: PluginSpec | None = None
    auth_provider: _AuthProvider | None = None
    as_: str = msgspec.field(default="", name="as")
    as_uid: str = ""
    as_groups: tuple[str, ...] | None = None
    as_user_extra: dict[str, tuple[str, ...]] | None = None


class _Context(_Entry, frozen=True):
    cluster: str = ""
    user: str = ""
    namespace: str = ""


class _NamedCluster(_Entry, frozen=True):
    name: str
    cluster: _Cluster | None = None


class _NamedUser(_Entry, frozen=True):
    name: str
    user: _User | None = None


class _NamedContext(_Entry, frozen=True):
    name: str
    context: _Context | None = None


class _File(_Entry, frozen=True):
    current_context: str | None = None
    clusters: tuple[_NamedCluster, ...] | None = None
    users: tuple[_NamedUser, ...] | None = None
    contexts: tuple[_NamedContext, ...] | None = None


def _paths(kubeconfig: str | None) -> list[Path]:
    """Return the files to read, the strongest first."""
    if kubeconfig:
        return [Path(kubeconfig).expanduser()]
    if listed := os.environ.get("KUBECONFIG"):
        return [Path(path) for path in dict.fromkeys(listed.split(os.pathsep)) if path]
    return [Path.home() / ".kube" / "config"]


def _read(path: Path) -> _File:
    """Read one file. No message quotes it, for it holds secrets."""
    try:
        text = path.read_bytes()
    except OSError as error:
        raise ClusterError(f"cannot read the kubeconfig {path}: {error.strerror}") from None
    try:
        trees = list(yamltree.documents(text, str(path)))
    except InputError as error:
        line = f", line {error.line}" if error.line else ""
        raise ClusterError(f"kubeconfig {path}{line}: this is not YAML") from None
    try:
        return from_dict(hide(trees[0][1]) if trees else {}, _File)
    except InputError as error:
        raise ClusterError(f"kubeconfig {path}: {error}") from None


# --- From entries to access -----------------------------------------------------------------

E = TypeVar("E", bound=_Entry)


class _Found(msgspec.Struct, Generic[E], frozen=True):
    """An entry, and the file where it stands."""

    entry: E
    what: str  # ``user alice in /home/alice/.kube/config``
    folder: Path = Path()

    def error(self, problem: str) -> ClusterError:
        """Return an error about this entry."""
        return ClusterError(f"{self.what}: {problem}")

    def pem(self, field: str, path: str, data: str) -> str | None:
        """Return a certificate or key: from its data if there are any, else from its file."""
        if not data and not path:
            return None
        try:
            if data:
                return base64.b64decode("".join(data.split()), validate=True).decode()
            return (self.folder / path).read_text()
        except OSError as error:
            raise self.error(f"{field} {self.folder / path}: {error.strerror}") from None
        except (binascii.Error, UnicodeDecodeError):
            name = f"{field}-data" if data else field
            raise self.error(f"{name} is not {'base64 of ' if data else ''}PEM text") from None


class _Merged:
    """The entries of all files, by name; the first file to name one wins."""

    def __init__(self, files: Mapping[Path, _File]) -> None:
        self._files = " and ".join(map(str, files))
        self._clusters = _first(
            ("cluster", path, each.name, each.cluster or _Cluster())
            for path, file in files.items()
            for each in file.clusters or ()
        )
        self._users = _first(
            ("user", path, each.name, each.user or _User())
            for path, file in files.items()
            for each in file.users or ()
        )
        self._contexts = _first(
            ("context", path, each.name, each.context or _Context())
            for path, file in files.items()
            for each in file.contexts or ()
        )
        self._current = next(filter(None, (file.current_context for file in files.values())), "")

    def access(self, name: str | None) -> Access:
        """Return the access of the context with this name, or of the current one."""
        name = name or self._current
        names = ", ".join(sorted(self._contexts)) or "none"
        if not name:
            raise ClusterError(
                f"no current context in {self._files}: choose one with --context ({names})"
            )
        context = self._contexts.get(name)
        if context is None:
            raise ClusterError(f"no context {name} in {self._files}; there are: {names}")
        cluster = self._clusters.get(context.entry.cluster)
        if cluster is None:
            raise context.error(f"its cluster {context.entry.cluster!r} is in none of the files")
        user = self._users.get(context.entry.user)
        if user is None and context.entry.user:
            raise context.error(f"its user {context.entry.user!r} is in none of the files")
        return _access(context, cluster, user or _Found(_User(), "no user"))


def _first(entries: Iterable[tuple[str, Path, str, E]]) -> dict[str, _Found[E]]:
    found: dict[str, _Found[E]] = {}
    for kind, path, name, entry in entries:
        found.setdefault(name, _Found(entry, f"{kind} {name} in {path}", path.parent.absolute()))
    return found


def _access(context: _Found[_Context], at: _Found[_Cluster], user: _Found[_User]) -> Access:
    cluster = at.entry
    server = _split(cluster.server)
    if server.scheme not in {"http", "https"} or not server.hostname or server.username:
        raise at.error("its server is not an address like https://host:6443")
    proxy = cluster.proxy_url
    if proxy and _split(proxy.reveal()).scheme not in {"http", "https"}:
        raise at.error("its proxy-url is not a http or https address; others are not supported")
    authority = at.pem(
        "certificate-authority", cluster.certificate_authority, cluster.certificate_authority_data
    )
    if authority and cluster.insecure_skip_tls_verify:
        raise at.error("certificate-authority and insecure-skip-tls-verify exclude each other")
    return Access(
        server=cluster.server.rstrip("/"),
        origin=context.what,
        credentials=_credentials(user, _told_to_plugins(cluster, authority)),
        namespace=context.entry.namespace or "default",
        authority=authority,
        insecure=cluster.insecure_skip_tls_verify,
        tls_server_name=cluster.tls_server_name or None,
        proxy=proxy,
        headers=_impersonation(user),
    )


def _split(address: str) -> SplitResult:
    """Take an address apart; one that is none has neither scheme nor host."""
    try:
        return urlsplit(address)
    except ValueError:
        return urlsplit("")


def _credentials(at: _Found[_User], cluster: Mapping[str, Any]) -> Credentials:
    user = at.entry
    if user.auth_provider:
        name = user.auth_provider.name
        instead = _INSTEAD_OF_PROVIDER.get(name, "use an exec plugin or a token")
        raise at.error(f"auth-provider {name} is not supported: {instead}")
    key_data = user.client_key_data.reveal() if user.client_key_data else ""
    certificate = at.pem(
        "client-certificate", user.client_certificate, user.client_certificate_data
    )
    key = at.pem("client-key", user.client_key, key_data)
    if bool(certificate) != bool(key):
        raise at.error("client-certificate and client-key need each other")
    authorization = None
    if user.token:
        authorization = bearer(user.token)
    elif user.username:
        authorization = basic(user.username, user.password or Secret(""))
    fixed = Identity(authorization, certificate, Secret(key) if key else None)
    if user.token_file:
        return TokenFile(at.folder / user.token_file, fixed)
    if user.exec and not authorization:
        plugin = user.exec
        if os.sep in plugin.command:
            plugin = msgspec.structs.replace(plugin, command=str(at.folder / plugin.command))
        return Plugin(plugin, cluster, fixed)
    return Fixed(fixed)


def _impersonation(at: _Found[_User]) -> tuple[tuple[str, str], ...]:
    """Return the headers that ask to act as somebody else (authentication, "impersonation")."""
    user = at.entry
    extra = user.as_user_extra or {}
    headers = [
        ("Impersonate-User", user.as_),
        ("Impersonate-Uid", user.as_uid),
        *(("Impersonate-Group", group) for group in user.as_groups or ()),
        *((f"Impersonate-Extra-{key}", each) for key, values in extra.items() for each in values),
    ]
    return tuple((name, value) for name, value in headers if value)


def _told_to_plugins(cluster: _Cluster, authority: str | None) -> dict[str, Any]:
    """Return what plugins with ``provideClusterInfo`` get (ExecCredential ``spec.cluster``)."""
    config = [each.extension for each in cluster.extensions or () if each.name == _PLUGIN_CONFIG]
    told = {
        "server": cluster.server,
        "tls-server-name": cluster.tls_server_name,
        "insecure-skip-tls-verify": cluster.insecure_skip_tls_verify,
        "certificate-authority-data": base64.b64encode((authority or "").encode()).decode(),
        "proxy-url": cluster.proxy_url.reveal() if cluster.proxy_url else "",
        "config": config[0] if config else None,
    }
    return {name: value for name, value in told.items() if value}


def _in_cluster() -> Access:
    """Return the access of the pod's service account; its token is renewed by the kubelet."""
    host = os.environ["KUBERNETES_SERVICE_HOST"]
    port = os.environ.get("KUBERNETES_SERVICE_PORT", "443")
    account = _Found(_User(), "service account of this pod", _SERVICE_ACCOUNT)
    try:
        namespace = (_SERVICE_ACCOUNT / "namespace").read_text().strip()
    except OSError:
        namespace = "default"
    return Access(
        server=f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}",
        origin=account.what,
        credentials=TokenFile(_SERVICE_ACCOUNT / "token", Identity()),
        namespace=namespace,
        authority=account.pem("certificate-authority", "ca.crt", ""),
    )
