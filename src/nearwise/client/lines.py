"""A stream of bytes cut into lines."""

from __future__ import annotations


class Lines:
    """Cuts a stream into lines; in what pieces the stream comes makes no difference."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self.rest = 0
        """How many bytes of a line have come whose end has not."""

    def feed(self, piece: bytes) -> list[bytes]:
        """Take in the next piece of the stream; return the lines that it completes."""
        *lines, rest = piece.split(b"\n")
        if lines and self._pieces:
            lines[0] = b"".join((*self._pieces, lines[0]))
            self._pieces.clear()
            self.rest = 0
        if rest:
            self._pieces.append(rest)
            self.rest += len(rest)
        return lines
