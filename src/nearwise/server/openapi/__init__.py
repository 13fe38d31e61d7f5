"""The kinds as clients may ask for them (OpenAPI), and as requests are checked against them.

``schemas/`` has the kinds in a small language (``language.py``); ``expand.py`` and ``paths.py``
make OpenAPI of them, ``documents.py`` serves it, ``unknown.py`` finds fields that are none.
"""

from nearwise.server.openapi.documents import Document, document
from nearwise.server.openapi.unknown import unknown_fields

__all__ = ["Document", "document", "unknown_fields"]
