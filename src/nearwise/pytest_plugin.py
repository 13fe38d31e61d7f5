"""Fixtures for tests that need a Kubernetes API; pytest finds them by itself.

Law: this file is imported in every run of pytest where Nearwise is installed, so it imports
nothing until a fixture is used.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from nearwise.testing import KubeApi


@pytest.fixture
def kube_api() -> Iterator[KubeApi]:
    """Give the test an API server of its own, empty, with controllers that write EndpointSlices."""
    from nearwise import testing

    with testing.kube_api() as api:
        yield api
