"""Health and metrics over HTTP: what the pages say, and that nobody can make them costly."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from prometheus_client import CollectorRegistry, Gauge

from nearwise.loops import serving as module
from nearwise.loops.serving import Pages, serving

OPENMETRICS = "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5"


def pages(**checks: str) -> Pages:
    registry = CollectorRegistry()
    Gauge("answer", "The answer.", registry=registry).set(42)
    return Pages(registry, lambda: checks)


def ask(*requests: bytes, **checks: str) -> list[bytes]:
    """Send each request over a connection of its own; return what came until it was closed."""

    async def story() -> list[bytes]:
        async with serving(pages(**checks), "127.0.0.1", 0) as (host, port):
            answers = []
            for request in requests:
                reader, writer = await asyncio.open_connection(host, port)
                writer.write(request)
                answers.append(await reader.read())
                writer.close()
            return answers

    return asyncio.run(story())


def get(path: str, *headers: str, method: str = "GET", **checks: str) -> tuple[int, str, str]:
    """Return status, head and body."""
    lines = "".join(f"{line}\r\n" for line in (f"{method} {path} HTTP/1.1", "Host: x", *headers))
    (answer,) = ask(f"{lines}\r\n".encode(), **checks)
    head, _, body = answer.decode().partition("\r\n\r\n")
    return int(head.split()[1]), head, body


# --- pages ----------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/livez", "/healthz", "/livez?verbose"])
def test_who_answers_lives(path: str) -> None:
    assert get(path, pods="not complete yet")[::2] == (200, "ok")


def test_ready_is_who_has_no_trouble() -> None:
    assert get("/readyz", pods="", services="")[::2] == (
        200,
        "[+]pods ok\n[+]services ok\nreadyz check passed\n",
    )


def test_what_keeps_a_replica_from_being_ready_is_named() -> None:
    assert get("/readyz", pods="", services="the connection was lost")[::2] == (
        503,
        "[+]pods ok\n[-]services failed: the connection was lost\nreadyz check failed\n",
    )


def test_metrics_come_in_the_format_that_is_asked_for() -> None:
    status, head, body = get("/metrics")
    assert (status, "answer 42.0" in body) == (200, True)
    assert "Content-Type: text/plain; version=0.0.4; charset=utf-8" in head

    status, head, body = get("/metrics", f"accept: {OPENMETRICS}")
    assert (status, body.endswith("# EOF\n")) == (200, True)
    assert "Content-Type: application/openmetrics-text; version=1.0.0" in head


def test_a_head_request_gets_no_body() -> None:
    status, head, body = get("/livez", method="HEAD")
    assert (status, body) == (200, "")
    assert "Content-Length: 2" in head


# --- what is refused ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("request_line", "status"),
    [
        ("GET /secrets HTTP/1.1", 404),
        ("POST /metrics HTTP/1.1", 405),
        ("GET /metrics HTTP/2", 400),
        ("GET /metrics", 400),
        ("\x16\x03\x01", 400),
        ("", 400),
    ],
)
def test_everything_else_gets_the_right_refusal(request_line: str, status: int) -> None:
    (answer,) = ask(f"{request_line}\r\nHost: x\r\n\r\n".encode())
    assert int(answer.split()[1]) == status
    assert answer.endswith(b"\n")


def test_a_request_without_an_end_is_cut_short() -> None:
    (answer,) = ask(b"GET /metrics HTTP/1.1\r\nX: " + b"x" * 10_000)
    assert int(answer.split()[1]) == 431


def test_who_hangs_up_in_the_middle_leaves_no_trace() -> None:
    async def story() -> bytes:
        async with serving(pages(), "127.0.0.1", 0) as (host, port):
            _, writer = await asyncio.open_connection(host, port)
            writer.write(b"GET /livez HTT")
            writer.close()
            return await answer_to(host, port)

    assert asyncio.run(story()).startswith(b"HTTP/1.1 200 OK\r\n")


def test_who_takes_too_long_is_hung_up_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_PATIENCE", 0.05)

    async def story() -> bytes:
        async with serving(pages(), "127.0.0.1", 0) as (host, port):
            reader, writer = await asyncio.open_connection(host, port)
            writer.write(b"GET /livez HTTP/1.1\r\n")
            answer = await reader.read()
            writer.close()
            return answer

    assert asyncio.run(story()) == b""


def test_no_more_than_so_many_are_served_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST", 2)

    async def story() -> tuple[bytes, bytes]:
        async with serving(pages(), "127.0.0.1", 0) as (host, port):
            idle = [await asyncio.open_connection(host, port) for _ in range(2)]
            refused = await answer_to(host, port)
            for _, writer in idle:
                writer.close()
            await eventually(lambda: answer_to(host, port))
            return refused, await answer_to(host, port)

    refused, served = asyncio.run(story())
    assert refused == b""
    assert served.startswith(b"HTTP/1.1 200 OK\r\n")


async def eventually(ask_again: Callable[[], Awaitable[bytes]]) -> None:
    while not await ask_again():
        await asyncio.sleep(0.01)


async def answer_to(host: str, port: int) -> bytes:
    reader, writer = await asyncio.open_connection(host, port)
    writer.write(b"GET /livez HTTP/1.1\r\n\r\n")
    try:
        return await reader.read()
    except ConnectionError:
        return b""
    finally:
        writer.close()


def test_connections_end_with_the_server() -> None:
    async def story() -> bytes:
        async with serving(pages(), "127.0.0.1", 0) as (host, port):
            reader, writer = await asyncio.open_connection(host, port)
            writer.write(b"GET /livez")
            await asyncio.sleep(0.01)
        answer = await reader.read()
        writer.close()
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection(host, port)
        return answer

    assert asyncio.run(story()) == b""


def test_without_a_host_it_listens_on_every_address() -> None:
    async def story() -> bytes:
        async with serving(pages(), "127.0.0.1", 0) as (_, free):
            pass
        async with serving(pages(), None, free) as (_, port):
            return await answer_to("127.0.0.1", port)

    assert asyncio.run(story()).startswith(b"HTTP/1.1 200 OK\r\n")


def test_an_address_that_is_taken_is_an_error_at_once() -> None:
    async def story() -> None:
        async with serving(pages(), "127.0.0.1", 0) as (host, port):
            with pytest.raises(OSError, match="address already in use"):
                async with serving(pages(), host, port):
                    pass

    asyncio.run(story())
