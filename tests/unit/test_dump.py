"""Dumps from files, folders and standard input."""

from __future__ import annotations

import gzip
import io
import os
from pathlib import Path

import pytest

from nearwise.client.dump import load
from nearwise.model.codec import InputError


def pod(name: str) -> bytes:
    return f"apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}, namespace: shop}}\n".encode()


def found(*paths: object, stdin: bytes | None = None) -> list[str]:
    given = None if stdin is None else io.BytesIO(stdin)
    return [one.metadata.name for one in load([str(path) for path in paths], given).pods]


def refused(*paths: object, stdin: bytes | None = None) -> str:
    with pytest.raises(InputError) as error:
        found(*paths, stdin=stdin)
    return str(error.value)


def test_files_and_standard_input_are_put_together(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_bytes(pod("a"))
    (tmp_path / "b.gz").write_bytes(gzip.compress(pod("b")))

    assert found(tmp_path / "a.yaml", "-", tmp_path / "b.gz", stdin=pod("c")) == ["a", "b", "c"]


def test_a_folder_is_read_to_its_depths_but_only_dumps_in_it(tmp_path: Path) -> None:
    deep = tmp_path / "namespaces" / "shop" / "core"
    deep.mkdir(parents=True)
    (tmp_path / "a.yaml").write_bytes(pod("a"))
    (tmp_path / "empty.yml").write_bytes(b"# nothing here\n")
    (deep / "b.json").write_bytes(
        b'{"apiVersion":"v1","kind":"Pod","metadata":{"name":"b","namespace":"shop"}}'
    )
    (deep / "c.YML").write_bytes(pod("c"))
    (deep / "d.yaml.gz").write_bytes(gzip.compress(pod("d")))
    (deep / "current.log").write_bytes(b"not: [a dump")
    (deep / "audit.log.gz").write_bytes(gzip.compress(b"not: [a dump"))
    (deep / "gone.yaml").symlink_to(tmp_path / "nowhere")
    os.mkfifo(deep / "pipe.yaml")  # reading it would wait for ever

    assert found(tmp_path) == ["a", "b", "c", "d"]


def test_the_later_file_in_the_order_of_names_wins(tmp_path: Path) -> None:
    (tmp_path / "1").mkdir()
    (tmp_path / "2").mkdir()
    (tmp_path / "1" / "a.yaml").write_bytes(pod("a"))
    (tmp_path / "2" / "a.yaml").write_bytes(pod("a") + b"spec: {nodeName: worker-2}\n")

    objects = load([str(tmp_path)], None)

    assert objects.pods[0].spec.node_name == "worker-2"
    assert [notice.code for notice in objects.notices] == ["object-given-twice"]


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "gone.yaml"
    assert refused(path) == f"{path}: cannot be read: there is no such file"


def test_a_pipe_without_a_file_system_entry_is_refused_by_name() -> None:
    assert refused("-") == "standard input: there is none"


@pytest.mark.parametrize("content", [b"", b"hello\n", b'{"a": 1}', b"{kind: List, items: []}"])
def test_a_source_without_objects_is_refused_with_a_hint(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x.yaml"
    path.write_bytes(content)
    said = "no Kubernetes objects in it (give the output of kubectl get with -o yaml or -o json)"

    assert refused(path) == f"{path}: {said}"
    assert refused(tmp_path) == f"{tmp_path}: {said}"
    assert refused("-", stdin=content) == f"standard input: {said}"


def test_only_secrets_are_objects_too(tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_bytes(b"{apiVersion: v1, kind: Secret, metadata: {name: s}}")
    assert load([str(tmp_path)], None).others == {"Secret": 1}


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("x.yaml", b"a: [1\n", "document 1, line 2: broken YAML"),
        ("x.json", b'{"apiVersion": ', "document 1, line 1: broken JSON: it ends too early"),
        ("x.yaml.gz", gzip.compress(pod("a"))[:-9], "the gzip data ends too early"),
        ("x.json", b"\x89PNG\r\n\x1a\n\0\0", "is not text"),
    ],
)
def test_a_broken_file_is_named_wherever_it_lies(
    tmp_path: Path, name: str, content: bytes, said: str
) -> None:
    (tmp_path / "sub").mkdir()
    path = tmp_path / "sub" / name
    path.write_bytes(content)

    for given in (path, tmp_path):
        assert refused(given).startswith(str(path))
        assert said in refused(given)


def test_a_file_that_may_not_be_read_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    (tmp_path / "x.yaml").write_bytes(pod("a"))
    monkeypatch.setattr(Path, "open", refuse)

    assert refused(tmp_path / "x.yaml") == f"{tmp_path}/x.yaml: cannot be read: Permission denied"


def test_a_folder_that_may_not_be_listed_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: str) -> None:
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr(os, "scandir", refuse)

    assert refused(tmp_path) == f"{tmp_path}: cannot be read: Permission denied"
