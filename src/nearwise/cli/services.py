"""Which services a command is asked about: names, or all that are in reach."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from nearwise.cli.source import Source, scope

if TYPE_CHECKING:
    from nearwise.insight.world import Key


_KINDS: Final = frozenset(["service", "services", "svc"])


def reaching(source: Source, names: Iterable[str]) -> Source:
    """Return the source widened to the namespaces that the names name."""
    namespaces = {name.partition("/")[0] if "/" in name else None for name in names}
    match sorted(namespaces, key=str):
        case [] | [None]:
            return source
        case [str(namespace)]:
            return source._replace(namespace=namespace, all_namespaces=False)
        case _:
            return source._replace(all_namespaces=True)


def chosen(source: Source, names: Iterable[str], known: Iterable[Key]) -> list[Key]:
    """Return the known services that are meant: ``NAME`` or ``NAMESPACE/NAME``, all without names.

    A name without a namespace means the one in reach, or, when all namespaces are, every service
    that is called so. Raises InputError for a name that nothing has.
    """
    namespace = scope(source)
    in_reach = [key for key in sorted(known) if namespace in {None, key[0]}]
    found: set[Key] = set()
    for name in names:
        where, _, what = name.rpartition("/")
        meant = [key for key in in_reach if key[1] == what and where in {"", key[0]}]
        if not meant:
            raise _unknown(name, in_reach, namespace)
        found.update(meant)
    return sorted(found) if found else in_reach


def the_one(source: Source, name: str, known: Iterable[Key]) -> Key:
    """Return the only known service that is meant. Raises InputError for none and for several."""
    from nearwise.model.errors import InputError

    keys = chosen(source, [name], known)
    if len(keys) > 1:
        which = ", ".join("/".join(key) for key in keys)
        raise InputError(f"{len(keys)} services are called {name}", hint=f"say which: {which}")
    return keys[0]


def nothing_there(source: Source) -> str:
    """Say that there is nothing to be asked about, and where that was looked for."""
    namespace = scope(source)
    return f"There are no services{f' in namespace {namespace}' if namespace else ''}."


def _unknown(name: str, in_reach: Iterable[Key], namespace: str | None) -> Exception:
    from nearwise.model.errors import InputError
    from nearwise.model.suggestion import did_you_mean

    names = ["/".join(key) for key in in_reach] + [key[1] for key in in_reach]
    if name.partition("/")[0] in _KINDS:  # as kubectl takes it
        hint = did_you_mean(name.partition("/")[2], names)
        return InputError(f"{name}: in front of a service is its namespace, not a kind", hint=hint)
    where = f" in namespace {namespace}" if namespace is not None and "/" not in name else ""
    return InputError(f"no service is called {name}{where}", hint=did_you_mean(name, names))
