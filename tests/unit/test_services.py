"""Which services a command is asked about."""

from __future__ import annotations

import pytest

from nearwise.cli.services import chosen, reaching
from nearwise.cli.source import Source
from nearwise.model.codec import InputError

DUMP = Source(filenames=("dump.yaml",))
KNOWN = [("shop", "web"), ("shop", "orders"), ("data", "web"), ("data", "db")]


@pytest.mark.parametrize(
    ("source", "names", "keys"),
    [
        (DUMP, [], sorted(KNOWN)),
        (DUMP, ["web"], [("data", "web"), ("shop", "web")]),
        (DUMP, ["shop/web"], [("shop", "web")]),
        (
            DUMP,
            ["orders", "data/web", "web"],
            [("data", "web"), ("shop", "orders"), ("shop", "web")],
        ),
        (DUMP._replace(namespace="data"), [], [("data", "db"), ("data", "web")]),
        (DUMP._replace(namespace="data"), ["web"], [("data", "web")]),
    ],
)
def test_names_mean_services_in_reach(
    source: Source, names: list[str], keys: list[tuple[str, str]]
) -> None:
    assert chosen(source, names, KNOWN) == keys


@pytest.mark.parametrize(
    ("source", "name", "said"),
    [
        (DUMP, "wep", "no service is called wep (did you mean web?)"),
        (DUMP, "shop/db", "no service is called shop/db (did you mean"),
        (DUMP, "svc/web", "svc/web: in front of a service is its namespace, not a kind (did you "),
        (
            DUMP._replace(namespace="data"),
            "orders",
            "no service is called orders in namespace data",
        ),
    ],
)
def test_a_name_that_no_service_has_is_an_error(source: Source, name: str, said: str) -> None:
    with pytest.raises(InputError) as error:
        chosen(source, [name], KNOWN)

    assert str(error.value).startswith(said)


@pytest.mark.parametrize(
    ("names", "reach"),
    [
        ([], DUMP),
        (["web"], DUMP),
        (["shop/web", "shop/orders"], DUMP._replace(namespace="shop")),
        (["shop/web", "data/db"], DUMP._replace(all_namespaces=True)),
        (["shop/web", "db"], DUMP._replace(all_namespaces=True)),
    ],
)
def test_a_namespace_in_a_name_widens_what_is_read(names: list[str], reach: Source) -> None:
    assert reaching(DUMP, names) == reach


def test_a_namespace_in_a_name_wins_over_the_option() -> None:
    assert reaching(DUMP._replace(namespace="data"), ["shop/web"]).namespace == "shop"
