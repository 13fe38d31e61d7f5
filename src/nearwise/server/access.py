"""What a client needs to get in: a token, and the kubeconfig that holds it.

Law: the token is in the kubeconfig and in the memory of the server, and nowhere else: not in
logs, not in arguments of processes, not in messages. A kubeconfig that Nearwise did not write is
not replaced.
"""

from __future__ import annotations

import base64
import secrets
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from nearwise.model import yamltree
from nearwise.model.errors import InputError
from nearwise.server.kinds.plain import at
from nearwise.server.private import write_private

NAME: Final = "nearwise"
"""Of the cluster, the user and the context in the kubeconfig."""

_TOKEN: Final = 32  # bytes
_KUBECONFIG: Final = """\
apiVersion: v1
kind: Config
current-context: {name}
contexts:
- name: {name}
  context:
    cluster: {name}
    user: {name}
clusters:
- name: {name}
  cluster:
    server: {server}
    certificate-authority-data: {authority}
users:
- name: {name}
  user:
    token: {token}
"""


def new_token() -> str:
    """Return a token of 256 bits that nobody can guess."""
    return secrets.token_hex(_TOKEN)


def write_kubeconfig(path: Path, server: str, authority: Path, token: str) -> None:
    """Write how to reach a server, readable by its owner alone."""
    encoded = base64.b64encode(authority.read_bytes()).decode()
    text = _KUBECONFIG.format(name=NAME, server=server, authority=encoded, token=token)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_private(path, text.encode())


def remove_kubeconfig(path: Path, token: str) -> None:
    """Remove a kubeconfig, if it still has this token."""
    with suppress(InputError):
        if own_token(path) == token:
            path.unlink(missing_ok=True)


def own_token(path: Path) -> str | None:
    """Return the token of a kubeconfig that Nearwise wrote; None when there is no file.

    InputError when there is one that Nearwise did not write.
    """
    if not path.exists():
        return None
    try:
        found = [content for _, content in yamltree.documents(path.read_bytes(), "")]
    except InputError:
        found = []
    only = found[0] if len(found) == 1 else None
    if not (_is_ours(at(only, "clusters")) and _is_ours(at(only, "users"))):
        raise InputError(
            "is there already, and Nearwise did not write it",
            source=str(path),
            hint="choose another file with --kubeconfig, or replace this one with --force",
        )
    token = at(at(only, "users")[0], "user", "token")
    return token if isinstance(token, str) and len(token) == 2 * _TOKEN else None


def _is_ours(entries: Any) -> bool:
    """Tell whether a part of a kubeconfig has one entry, and that is of Nearwise."""
    return isinstance(entries, list) and [at(one, "name") for one in entries] == [NAME]
