"""Cluster dumps from files, folders and standard input."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, Final

from nearwise.model import documents
from nearwise.model.codec import InputError, Objects, merge, read

STDIN: Final = "-"
_SUFFIXES: Final = (".yaml", ".yml", ".json")
_FOUND_IN_FOLDERS: Final = (*_SUFFIXES, *(f"{suffix}.gz" for suffix in _SUFFIXES))
_HINT: Final = "give the output of kubectl get with -o yaml or -o json"


def load(paths: Sequence[str], stdin: BinaryIO | None = None) -> Objects:
    """Read dumps and put them together; of an object given twice see ``gather``.

    A path is a file, ``-`` for standard input, or a folder. Folders are gone through to their
    depths, in the order of names, for ``.yaml``, ``.yml`` and ``.json`` files, gzip'd or not;
    other files in them (logs) are passed over, and not every one must hold objects.

    Raises InputError for what is missing, unreadable, too large, empty or broken, and when there
    is not one Kubernetes object in a path.
    """
    return merge(_load(path, stdin) for path in paths)


def sources(path: str, stdin: BinaryIO | None = None) -> Iterator[tuple[str, bytes]]:
    """Give what a path of ``load`` stands for, one by one: the name for messages, and the bytes.

    Raises InputError for what is missing or cannot be read.
    """
    if path == STDIN:
        if stdin is None:
            raise InputError("there is none", source="standard input")
        yield "standard input", stdin.read(documents.MAX_BYTES + 1)
    elif os.path.isdir(path):
        yield from ((file, _content(file)) for file in _files(path))
    else:
        yield path, _content(path)


def _load(path: str, stdin: BinaryIO | None) -> Objects:
    found = merge(read(data, source) for source, data in sources(path, stdin))
    if found.empty:
        source = "standard input" if path == STDIN else path
        raise InputError("no Kubernetes objects in it", source=source, hint=_HINT)
    return found


def _files(folder: str) -> Iterator[str]:
    def refuse(error: OSError) -> None:
        raise _unreadable(error, str(error.filename or folder))

    for parent, folders, files in os.walk(folder, onerror=refuse):
        folders.sort()
        for name in sorted(files):
            file = os.path.join(parent, name)
            if name.lower().endswith(_FOUND_IN_FOLDERS) and os.path.isfile(file):
                yield file


def _content(path: str) -> bytes:
    try:
        with Path(path).open("rb") as file:
            return file.read(documents.MAX_BYTES + 1)
    except OSError as error:
        raise _unreadable(error, path) from None


def _unreadable(error: OSError, path: str) -> InputError:
    what = "there is no such file" if isinstance(error, FileNotFoundError) else error.strerror
    return InputError(f"cannot be read: {what}", source=path)
