"""What the table has for a service and its endpoints, and what changes when they change."""

from __future__ import annotations

from typing import Any

import pytest

from nearwise.model import Service
from nearwise.nft.compile import Compiler, Routes, compiled
from nearwise.nft.diff import Transaction
from nearwise.nft.layout import (
    ENDPOINTS,
    LOCAL_ENDPOINTS,
    Settings,
    fixed_chains,
    remember_chain,
)
from nearwise.nft.plans import ObjectKey
from nearwise.nft.ruleset import Chain, Family, Remember, Verdict
from nearwise.nft.trace import End, Packet, outcomes
from nft_words import V4, V6, element_words, pod, routes, service, words

Table = dict[str, dict[str, str]]

LOCAL: dict[str, Any] = {"externalTrafficPolicy": "Local"}
NODE_PORT: dict[str, Any] = {
    "type": "NodePort",
    "ports": [{"name": "http", "port": 80, "nodePort": 30080}],
}
ON_NODE, ELSEWHERE = pod("10.244.1.1", "n1"), pod("10.244.2.2", "n2")


def by_key(*given: Routes) -> dict[ObjectKey, Routes]:
    return {each.service.metadata.key: each for each in given}


def table(*given: Routes, settings: Settings = V4) -> Table:
    return words(compiled(settings, by_key(*given)))


def left_out(*given: Routes) -> dict[str, list[str]]:
    compiler = Compiler(V4)
    compiler.change(by_key(*given))
    return {key[1]: [why.text for why in told] for key, told in compiler.left_out.items()}


def chains(*given: Routes) -> list[str]:
    """The chains that are not always there."""
    always = {each.name for each in fixed_chains(V4)} | {"remember"}
    return sorted(compiled(V4, by_key(*given)).chains.keys() - always)


# --- Cluster addresses ------------------------------------------------------------------------


def test_a_cluster_address_is_spread_over_its_endpoints() -> None:
    given = routes(service(), pod("10.244.2.1"), pod("10.244.2.2"))

    assert table(given) == {
        "services": {"10.96.0.1:80/TCP": "spread-2"},
        "endpoints": {
            "10.96.0.1:80/TCP #0": "10.244.2.1:8080",
            "10.96.0.1:80/TCP #1": "10.244.2.2:8080",
        },
        "cluster-addresses": {"10.96.0.1": ""},
    }
    assert chains(given) == ["spread-2"]


def test_ports_and_protocols_are_frontends_of_their_own() -> None:
    ports = [
        {"name": "dns", "port": 53, "protocol": "UDP"},
        {"name": "dns-tcp", "port": 53, "protocol": "TCP"},
        {"name": "diameter", "port": 3868, "protocol": "SCTP"},
    ]
    assert table(routes(service(ports=ports), pod("10.244.2.1")))["services"] == {
        "10.96.0.1:53/TCP": "spread-1",
        "10.96.0.1:53/UDP": "spread-1",
        "10.96.0.1:3868/SCTP": "spread-1",
    }


def test_ipv6_is_a_table_of_its_own() -> None:
    both = service(clusterIPs=["10.96.0.1", "fd00:96::1"])
    given = routes(both, pod("fd00:244:2::1"), family=Family.IPV6)

    assert table(given, settings=V6) == {
        "services": {"[fd00:96::1]:80/TCP": "spread-1"},
        "endpoints": {"[fd00:96::1]:80/TCP #0": "fd00:244:2::1:8080"},
        "cluster-addresses": {"fd00:96::1": ""},
    }


def test_without_endpoints_connections_are_refused() -> None:
    assert table(routes(service())) == {
        "services": {"10.96.0.1:80/TCP": "refuse"},
        "cluster-addresses": {"10.96.0.1": ""},
    }


@pytest.mark.parametrize(
    ("case", "pods", "verdict", "endpoints"),
    [
        ("somebody here", [ON_NODE, ELSEWHERE], "spread-1", ["10.244.1.1:8080"]),
        ("somebody elsewhere only", [ELSEWHERE], "drop", []),
        ("nobody", [], "refuse", []),
    ],
)
def test_internal_policy_local_uses_who_is_here(
    case: str, pods: list[Any], verdict: str, endpoints: list[str]
) -> None:
    found = table(routes(service(internalTrafficPolicy="Local"), *pods))
    assert found["services"] == {"10.96.0.1:80/TCP": verdict}, case
    assert list(found.get("endpoints", {}).values()) == endpoints, case


@pytest.mark.parametrize(
    "of",
    [
        service(clusterIP="None"),
        service(type="ExternalName"),
        service(labels={"service.kubernetes.io/service-proxy-name": "another"}),
    ],
)
def test_services_that_are_not_for_this_proxy_leave_no_trace(of: Service) -> None:
    assert table(routes(of, ON_NODE)) == {}
    assert chains(routes(of, ON_NODE)) == []


def test_endpoints_that_are_or_may_be_here_may_call_themselves() -> None:
    given = routes(
        service(), pod("10.244.1.1", "n1"), pod("10.244.2.2", "n2"), pod("10.9.9.9", None)
    )
    assert table(given)["own-endpoints"] == {"10.244.1.1": "", "10.9.9.9": ""}


def test_what_this_machine_sends_itself_is_left_as_it_is() -> None:
    on_the_host = pod("192.168.1.1", "n1")
    assert "own-endpoints" not in table(routes(service(), on_the_host, ELSEWHERE))


# --- From outside -----------------------------------------------------------------------------


def test_from_outside_answers_come_back_through_this_machine() -> None:
    of = service(**NODE_PORT, externalIPs=["203.0.113.1"], ingress=("198.18.0.1",))
    given = routes(of, ELSEWHERE)

    assert table(given)["services"] == {
        "10.96.0.1:80/TCP": "spread-1",
        "192.168.1.1:30080/TCP": "masquerade-1",
        "198.18.0.1:80/TCP": "masquerade-1",
        "203.0.113.1:80/TCP": "masquerade-1",
    }
    assert table(given)["endpoints"] == {
        "10.96.0.1:80/TCP #0": "10.244.2.2:8080",
        "192.168.1.1:30080/TCP #0": "10.244.2.2:8080",
        "198.18.0.1:80/TCP #0": "10.244.2.2:8080",
        "203.0.113.1:80/TCP #0": "10.244.2.2:8080",
    }
    assert chains(given) == ["masquerade-1", "spread-1"]


def test_external_policy_local_asks_where_the_client_is() -> None:
    given = routes(service(**NODE_PORT, **LOCAL), ON_NODE, ELSEWHERE, pod("10.244.2.3"))

    assert table(given) == {
        "services": {
            "10.96.0.1:80/TCP": "spread-3",
            "192.168.1.1:30080/TCP": "policy-local",
        },
        "inside": {"192.168.1.1:30080/TCP": "spread-3"},
        "outside": {"192.168.1.1:30080/TCP": "local-1"},
        "endpoints": {
            "10.96.0.1:80/TCP #0": "10.244.1.1:8080",
            "10.96.0.1:80/TCP #1": "10.244.2.2:8080",
            "10.96.0.1:80/TCP #2": "10.244.2.3:8080",
            "192.168.1.1:30080/TCP #0": "10.244.1.1:8080",
            "192.168.1.1:30080/TCP #1": "10.244.2.2:8080",
            "192.168.1.1:30080/TCP #2": "10.244.2.3:8080",
        },
        "local-endpoints": {"192.168.1.1:30080/TCP #0": "10.244.1.1:8080"},
        "cluster-addresses": {"10.96.0.1": ""},
        "own-endpoints": {"10.244.1.1": "", "10.244.2.2": "", "10.244.2.3": ""},
    }
    assert chains(given) == ["local-1", "spread-3"]


def test_external_policy_local_drops_clients_outside_when_only_others_have_endpoints() -> None:
    found = table(routes(service(**NODE_PORT, **LOCAL), ELSEWHERE))

    assert found["services"]["192.168.1.1:30080/TCP"] == "policy-local"
    assert found["inside"] == {"192.168.1.1:30080/TCP": "spread-1"}
    assert found["outside"] == {"192.168.1.1:30080/TCP": "drop"}
    assert "local-endpoints" not in found


def test_external_policy_local_refuses_all_when_there_is_nobody_anywhere() -> None:
    found = table(routes(service(**NODE_PORT, **LOCAL)))
    assert found["services"] == {"10.96.0.1:80/TCP": "refuse", "192.168.1.1:30080/TCP": "refuse"}
    assert not {"inside", "outside"} & found.keys()


def test_both_policies_local_draw_from_different_endpoints() -> None:
    of = service(**NODE_PORT, **LOCAL, internalTrafficPolicy="Local")
    found = table(routes(of, ON_NODE, ELSEWHERE))

    assert found["endpoints"] == {
        "10.96.0.1:80/TCP #0": "10.244.1.1:8080",
        "192.168.1.1:30080/TCP #0": "10.244.1.1:8080",
        "192.168.1.1:30080/TCP #1": "10.244.2.2:8080",
    }
    assert found["local-endpoints"] == {"192.168.1.1:30080/TCP #0": "10.244.1.1:8080"}


def test_internal_policy_local_is_nothing_to_clients_outside() -> None:
    found = table(routes(service(**NODE_PORT, internalTrafficPolicy="Local"), ELSEWHERE))
    assert found["services"] == {
        "10.96.0.1:80/TCP": "drop",
        "192.168.1.1:30080/TCP": "masquerade-1",
    }


def test_terminating_endpoints_are_the_last_resort() -> None:
    leaving = pod("10.244.1.1", "n1", ready=False, serving=True, terminating=True)
    found = table(routes(service(**NODE_PORT, **LOCAL), leaving, ELSEWHERE))

    assert found["inside"] == {"192.168.1.1:30080/TCP": "spread-1"}
    assert found["endpoints"]["192.168.1.1:30080/TCP #0"] == "10.244.2.2:8080"
    assert found["local-endpoints"] == {"192.168.1.1:30080/TCP #0": "10.244.1.1:8080"}


# --- Source ranges ----------------------------------------------------------------------------


def allowed(*ranges: str, settings: Settings = V4) -> list[str] | None:
    """Say who may come to the balancer 198.18.0.1 of a service; None: everybody."""
    of = service(
        ingress=("198.18.0.1",),
        loadBalancerSourceRanges=list(ranges),
    )
    found = table(routes(of, ELSEWHERE), settings=settings)
    if "fenced" not in found:
        assert "allowed" not in found
        return None
    assert found["fenced"] == {"198.18.0.1:80/TCP": ""}
    return [key.partition(" from ")[2] for key in found.get("allowed", {})]


@pytest.mark.parametrize(
    ("case", "ranges", "may_come"),
    [
        ("no ranges", [], None),
        ("a range", ["203.0.113.0/24"], ["203.0.113.0 to 203.0.113.255"]),
        ("everybody", ["0.0.0.0/0"], ["0.0.0.0 to 255.255.255.255"]),
        (
            "ranges that overlap become one, as a set of ranges wants it",
            ["10.0.0.0/8", "10.1.0.0/16", "10.0.0.0/8", "203.0.113.1/32"],
            ["10.0.0.0 to 10.255.255.255", "203.0.113.1 to 203.0.113.1"],
        ),
        ("a range with blanks", [" 203.0.113.0/24 "], ["203.0.113.0 to 203.0.113.255"]),
        ("bits of a host", ["203.0.113.9/24"], ["203.0.113.0 to 203.0.113.255"]),
        ("only ranges of the other family: everybody", ["2001:db8::/32"], None),
        ("only what is no range: nobody", ["everybody"], []),
        (
            "this machine may come, so it may when it calls with the balancer's address as its own",
            ["192.168.1.0/24"],
            ["192.168.1.0 to 192.168.1.255", "198.18.0.1 to 198.18.0.1"],
        ),
        (
            "any address of this machine counts",
            ["172.16.0.0/12"],
            ["172.16.0.0 to 172.31.255.255", "198.18.0.1 to 198.18.0.1"],
        ),
    ],
)
def test_source_ranges(case: str, ranges: list[str], may_come: list[str] | None) -> None:
    assert allowed(*ranges) == may_come, case


def test_only_addresses_of_load_balancers_are_fenced() -> None:
    of = service(
        **NODE_PORT,
        externalIPs=["203.0.113.1"],
        ingress=("198.18.0.1", "198.18.0.2"),
        loadBalancerSourceRanges=["10.0.0.0/8"],
    )
    fenced = table(routes(of, ELSEWHERE))["fenced"]
    assert list(fenced) == ["198.18.0.1:80/TCP", "198.18.0.2:80/TCP"]


def test_source_ranges_that_do_not_what_they_seem_to_are_told() -> None:
    of = service(ingress=("198.18.0.1",), loadBalancerSourceRanges=["2001:db8::/32", "all"])
    assert left_out(routes(of, ELSEWHERE)) == {
        "web": [
            "spec.loadBalancerSourceRanges[1]: all is no network such as 10.0.0.0/8, so it lets "
            "nobody in",
            "no source range of the load balancer is IPv4, so by IPv4 anybody may come: give "
            "ranges of both families",
        ]
    }


def test_what_is_no_range_is_not_one_of_the_other_family() -> None:
    of = service(ingress=("198.18.0.1",), loadBalancerSourceRanges=["all"])
    assert left_out(routes(of, ELSEWHERE)) == {
        "web": [
            "spec.loadBalancerSourceRanges[0]: all is no network such as 10.0.0.0/8, so it lets "
            "nobody in",
        ]
    }


def test_a_range_more_is_one_range_more() -> None:
    some, more = (
        routes(service(ingress=("198.18.0.1",), loadBalancerSourceRanges=ranges), ELSEWHERE)
        for ranges in (["10.0.0.0/8"], ["10.0.0.0/8", "203.0.113.0/24"])
    )
    one = {"198.18.0.1:80/TCP from 203.0.113.0 to 203.0.113.255": ""}
    assert in_words(changed(some, more)) == ({}, {"allowed": one})
    assert in_words(changed(more, some)) == ({"allowed": one}, {})


# --- Session affinity -------------------------------------------------------------------------


def sticky(seconds: int | None = None, name: str = "web", **spec: Any) -> Service:
    config = {} if seconds is None else {"clientIP": {"timeoutSeconds": seconds}}
    return service(name, sessionAffinity="ClientIP", sessionAffinityConfig=config, **spec)


def remembered(chain: Chain) -> list[int]:
    return [each.seconds for rule in chain.rules for each in rule if isinstance(each, Remember)]


def test_with_affinity_clients_are_remembered_for_three_hours() -> None:
    given = routes(sticky(**NODE_PORT), ELSEWHERE)
    ruleset = compiled(V4, by_key(given))

    assert words(ruleset)["services"] == {
        "10.96.0.1:80/TCP": "spread-1-sticky",
        "192.168.1.1:30080/TCP": "masquerade-1-sticky",
    }
    assert words(ruleset)["sticky-10800"] == {"10.96.0.1:80/TCP": "", "192.168.1.1:30080/TCP": ""}
    assert remembered(ruleset.chains["remember"]) == [10800]
    assert chains(given) == ["masquerade-1-sticky", "spread-1-sticky"]


def test_under_external_policy_local_both_kinds_of_clients_are_remembered() -> None:
    found = table(routes(sticky(**NODE_PORT, **LOCAL), ON_NODE, ELSEWHERE))
    assert found["inside"] == {"192.168.1.1:30080/TCP": "spread-2-sticky"}
    assert found["outside"] == {"192.168.1.1:30080/TCP": "local-1-sticky"}


def test_sets_and_rules_of_affinity_come_and_go_with_the_timeouts_in_use() -> None:
    compiler = Compiler(V4)
    one = routes(sticky(60, "a", clusterIP="10.96.0.1"), ELSEWHERE)
    two = routes(sticky(30, "b", clusterIP="10.96.0.2"), ELSEWHERE)
    three = routes(sticky(60, "c", clusterIP="10.96.0.3"), ELSEWHERE)

    change = compiler.change(by_key(one))
    assert [each.name for each in change.sets] == ["sticky-60"]
    assert change.chains[0] == remember_chain((60,))

    change = compiler.change(by_key(two))
    assert [each.name for each in change.sets] == ["sticky-30"]
    assert change.chains == (remember_chain((30, 60)),)

    change = compiler.change(by_key(three))
    assert (change.sets, change.chains) == ((), ())

    change = compiler.change({("shop", "a"): None, ("shop", "c"): None})
    assert change.gone_sets == ("sticky-60",)
    assert change.chains == (remember_chain((30,)),)
    assert "sticky-60" not in change.drop  # its elements go with it

    change = compiler.change({("shop", "b"): None})
    assert change.gone_sets == ("sticky-30",)
    assert change.chains == (remember_chain(()),)


@pytest.mark.parametrize("seconds", [0, -1, 86401])
def test_a_timeout_that_the_api_refuses_is_three_hours(seconds: int) -> None:
    given = routes(sticky(seconds), ELSEWHERE)
    assert list(table(given)["sticky-10800"]) == ["10.96.0.1:80/TCP"]
    assert left_out(given) == {
        "web": [
            f"a session affinity of {seconds} seconds is outside 1 to 86400: it is 10800 seconds"
        ]
    }


# --- Endpoints that cannot be used ------------------------------------------------------------


def test_endpoints_that_cannot_be_connected_to_are_as_if_they_were_not_there() -> None:
    good, broken = pod("10.244.2.1"), [pod("10.244.2"), pod("fd00::1"), pod("pod.example.com")]
    given = routes(service(), good, *broken)

    assert list(table(given)["endpoints"].values()) == ["10.244.2.1:8080"]
    assert left_out(given) == {
        "web": [
            "port http: no IPv4 address with a port, so no connection is sent there: "
            "10.244.2:8080, [fd00::1]:8080 and pod.example.com:8080"
        ]
    }
    assert table(routes(service(), *broken))["services"] == {"10.96.0.1:80/TCP": "refuse"}


def test_a_port_out_of_range_is_as_if_the_endpoint_were_not_there() -> None:
    assert table(routes(service(), ELSEWHERE, port=65536))["services"] == {
        "10.96.0.1:80/TCP": "refuse"
    }


def test_nobody_usable_here_but_somebody_elsewhere_is_dropped() -> None:
    of = service(internalTrafficPolicy="Local")
    assert table(routes(of, pod("10.244.1", "n1"), ELSEWHERE))["services"] == {
        "10.96.0.1:80/TCP": "drop"
    }
    assert table(routes(of, pod("10.244.1", "n1"), pod("10.244.2")))["services"] == {
        "10.96.0.1:80/TCP": "refuse"
    }
    leaving = pod("10.244.2.2", ready=False, serving=True, terminating=True)
    assert table(routes(of, pod("10.244.1", "n1"), leaving))["services"] == {
        "10.96.0.1:80/TCP": "drop"
    }


def test_an_address_written_in_two_ways_is_one_endpoint() -> None:
    found = table(routes(service(), pod("10.244.2.1"), pod("10.244.002.001")))
    assert found["services"] == {"10.96.0.1:80/TCP": "spread-1"}


# --- Who gets a frontend ----------------------------------------------------------------------

OLD = service(
    "old", made="2026-01-01T00:00:00Z", clusterIP="10.96.0.1", externalIPs=["203.0.113.1"]
)
YOUNG = service(
    "young", made="2026-02-01T00:00:00Z", clusterIP="10.96.0.2", externalIPs=["203.0.113.1"]
)
ON_EXTERNAL = service("cluster", made="2026-03-01T00:00:00Z", clusterIP="203.0.113.1")


def test_of_two_services_with_one_frontend_the_older_gets_it_and_the_other_is_told() -> None:
    old, young = routes(OLD, pod("10.244.2.1")), routes(YOUNG, pod("10.244.2.2"))
    for given in ((old, young), (young, old)):
        assert table(*given)["endpoints"] == {
            "10.96.0.1:80/TCP #0": "10.244.2.1:8080",
            "10.96.0.2:80/TCP #0": "10.244.2.2:8080",
            "203.0.113.1:80/TCP #0": "10.244.2.1:8080",
        }
        assert left_out(*given) == {
            "young": [
                "203.0.113.1:80/TCP is claimed by shop/old as well, which gets it: a cluster "
                "address goes before others, then the older service"
            ]
        }


def test_a_cluster_address_goes_before_others() -> None:
    given = [routes(OLD, pod("10.244.2.1")), routes(ON_EXTERNAL, pod("10.244.2.3"))]
    assert table(*given)["endpoints"]["203.0.113.1:80/TCP #0"] == "10.244.2.3:8080"
    assert list(left_out(*given)) == ["old"]


def test_services_of_the_same_age_go_by_their_names() -> None:
    twins = [service(name, externalIPs=["203.0.113.1"]) for name in ("b", "a")]
    assert list(left_out(*[routes(each, ELSEWHERE) for each in twins])) == ["b"]


def test_a_service_that_does_not_say_how_old_it_is_counts_as_the_youngest() -> None:
    ageless = service("ageless", made="", externalIPs=["203.0.113.1"])
    assert list(left_out(routes(ageless, ELSEWHERE), routes(YOUNG, ELSEWHERE))) == ["ageless"]


def test_whoever_claims_a_frontend_gets_it_when_the_winner_goes() -> None:
    compiler = Compiler(V4)
    compiler.change(by_key(routes(YOUNG, pod("10.244.2.2"))))
    compiler.change(by_key(routes(OLD, pod("10.244.2.1"), pod("10.244.2.3"))))
    assert list(compiler.left_out) == [("shop", "young")]
    assert words(compiler.ruleset)["services"]["203.0.113.1:80/TCP"] == "masquerade-2"

    change = compiler.change({("shop", "old"): None})
    assert not compiler.left_out
    assert words(compiler.ruleset) == table(routes(YOUNG, pod("10.244.2.2")))
    assert element_words("endpoints", V4.family, change.put["endpoints"]) == {
        "203.0.113.1:80/TCP #0": "10.244.2.2:8080"
    }


def test_a_service_that_waits_for_a_frontend_may_change_and_go_meanwhile() -> None:
    compiler = Compiler(V4)
    old = routes(OLD, pod("10.244.2.1"))
    compiler.change(by_key(old, routes(YOUNG, pod("10.244.2.2"))))

    change = compiler.change(by_key(routes(YOUNG, pod("10.244.2.3"))))
    assert element_words("endpoints", V4.family, change.put["endpoints"]) == {
        "10.96.0.2:80/TCP #0": "10.244.2.3:8080"
    }
    compiler.change({("shop", "young"): None})
    assert not compiler.left_out
    assert words(compiler.ruleset) == table(old)


# --- Comments ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "port", "comment"),
    [
        ("web", "http", "shop/web:http"),
        ("web", "", "shop/web"),
        ("w" * 130, "http", "shop/" + "w" * 123),
        ('we"b\\\nü', "", "shop/web\\ü"),
    ],
)
def test_verdicts_say_which_service_they_are_of(name: str, port: str, comment: str) -> None:
    of = service(name, ports=[{"name": port, "port": 80}])
    (verdict,) = compiled(V4, by_key(routes(of, ELSEWHERE))).elements["services"].values()
    assert isinstance(verdict, Verdict)
    assert verdict.comment == comment


# --- What changes -----------------------------------------------------------------------------


def changed(before: Routes, after: Routes) -> Transaction:
    compiler = Compiler(V4)
    compiler.change(by_key(before))
    return compiler.change(by_key(after))


def in_words(change: Transaction) -> tuple[Table, Table]:
    dropped, put = (
        {name: element_words(name, V4.family, each) for name, each in elements.items()}
        for elements in (change.drop, change.put)
    )
    return dropped, put


THREE = [pod(f"10.244.2.{number}") for number in (1, 2, 3)]


def test_one_endpoint_more_is_one_slot_more() -> None:
    change = changed(routes(service(), *THREE), routes(service(), pod("10.244.0.1"), *THREE))
    assert in_words(change) == (
        {"services": {"10.96.0.1:80/TCP": "spread-3"}},
        {
            "services": {"10.96.0.1:80/TCP": "spread-4"},
            "endpoints": {"10.96.0.1:80/TCP #3": "10.244.0.1:8080"},
        },
    )
    assert [each.name for each in change.chains] == ["spread-4"]
    assert change.gone_chains == ()


def test_one_endpoint_less_is_the_last_slot_moved_into_its_place() -> None:
    change = changed(routes(service(), *THREE), routes(service(), *THREE[1:]))
    assert in_words(change) == (
        {
            "services": {"10.96.0.1:80/TCP": "spread-3"},
            "endpoints": {
                "10.96.0.1:80/TCP #0": "10.244.2.1:8080",
                "10.96.0.1:80/TCP #2": "10.244.2.3:8080",
            },
        },
        {
            "services": {"10.96.0.1:80/TCP": "spread-2"},
            "endpoints": {"10.96.0.1:80/TCP #0": "10.244.2.3:8080"},
        },
    )


def test_one_endpoint_replaced_is_one_slot() -> None:
    change = changed(routes(service(), *THREE), routes(service(), *THREE[1:], pod("10.244.2.9")))
    assert in_words(change) == (
        {"endpoints": {"10.96.0.1:80/TCP #0": "10.244.2.1:8080"}},
        {"endpoints": {"10.96.0.1:80/TCP #0": "10.244.2.9:8080"}},
    )
    assert (change.chains, change.gone_chains) == ((), ())


def test_nothing_changed_is_nothing_to_do() -> None:
    assert changed(routes(service(), *THREE), routes(service(), *THREE)).is_empty
    assert changed(routes(service(), *THREE), routes(service(), *THREE[::-1])).is_empty


def test_a_change_is_as_small_among_a_thousand_services() -> None:
    many = [
        routes(service(f"s{n}", clusterIP=f"10.97.{n >> 8}.{n & 255}"), ELSEWHERE)
        for n in range(1000)
    ]
    compiler = Compiler(V4)
    compiler.change(by_key(routes(service(), *THREE), *many))
    change = compiler.change(by_key(routes(service(), *THREE[1:], pod("10.244.2.9"))))
    assert in_words(change) == (
        {"endpoints": {"10.96.0.1:80/TCP #0": "10.244.2.1:8080"}},
        {"endpoints": {"10.96.0.1:80/TCP #0": "10.244.2.9:8080"}},
    )


def test_what_services_share_goes_with_the_last() -> None:
    compiler = Compiler(V4)
    first = routes(service("a", ports=[{"port": 80}]), ON_NODE)
    second = routes(service("b", ports=[{"port": 81}]), ON_NODE)
    compiler.change(by_key(first, second))

    change = compiler.change({("shop", "a"): None})
    assert set(change.drop) == {"services", "endpoints"}
    change = compiler.change({("shop", "b"): None})
    assert set(change.drop) == {"services", "endpoints", "cluster-addresses", "own-endpoints"}
    assert compiler.ruleset.elements == compiled(V4, {}).elements


def test_a_chain_stays_for_when_as_many_endpoints_are_there_again() -> None:
    compiler = Compiler(V4)
    compiler.change(by_key(routes(service(), *THREE)))
    fewer = compiler.change(by_key(routes(service(), *THREE[1:])))
    assert [each.name for each in fewer.chains] == ["spread-2"]
    again = compiler.change(by_key(routes(service(), *THREE)))
    assert (again.chains, again.gone_chains) == ((), ())
    assert {"spread-2", "spread-3"} <= compiler.ruleset.chains.keys()


def test_who_had_which_slot_in_the_kernel_keeps_it() -> None:
    given = routes(service(**NODE_PORT, **LOCAL, internalTrafficPolicy="Local"), ON_NODE, *THREE)
    compiler = Compiler(V4)
    compiler.change(by_key(routes(given.service, ON_NODE, *THREE[1:])))
    compiler.change(by_key(given))
    before = compiler.ruleset
    assert before != compiled(V4, by_key(given))

    again = Compiler(V4, before)
    again.change(by_key(given))
    assert again.ruleset == before


def test_only_the_first_change_asks_what_the_kernel_has() -> None:
    given = routes(service(), *THREE)
    before = compiled(V4, by_key(given))
    first, second, _ = keys = list(before.elements["endpoints"])
    before.elements["endpoints"] |= {
        first: before.elements["endpoints"][second],
        second: before.elements["endpoints"][first],
    }
    for empty_changes, kept in ((0, True), (1, False)):
        again = Compiler(V4, before)
        for _ in range(empty_changes):
            again.change({})
        again.change(by_key(given))
        found = again.ruleset.elements["endpoints"]
        assert ([found[key] for key in keys] == list(before.elements["endpoints"].values())) is kept


def test_an_endpoint_that_the_kernel_has_in_two_slots_gets_one() -> None:
    given = routes(service(), *THREE)
    before = compiled(V4, by_key(given))
    endpoints = before.elements["endpoints"]
    endpoints.update(dict.fromkeys(endpoints, endpoints[min(endpoints)]))
    again = Compiler(V4, before)
    again.change(by_key(given))
    assert words(again.ruleset) == table(given)


def test_what_the_kernel_had_is_not_believed() -> None:
    given = routes(service(**NODE_PORT), *THREE)
    strange = compiled(V4, by_key(given))
    for name, elements in strange.elements.items():
        others: list[Any] = [b"", b"\1\2\3\4\5\6\7\0", None, *elements.values()]
        for number, key in enumerate(list(elements)):
            elements[key] = others[number % len(others)]
        assert name in strange.sets
    again = Compiler(V4, strange)
    again.change(by_key(given))
    found = words(again.ruleset)
    assert sorted(found.pop("endpoints").values()) == sorted(table(given)["endpoints"].values())
    assert found == {name: each for name, each in table(given).items() if name != "endpoints"}


def test_a_service_that_gets_another_address_keeps_its_slots() -> None:
    other = routes(service(clusterIP="10.96.0.7"), *THREE[::-1])
    dropped, put = in_words(changed(routes(service(), *THREE), other))
    assert {key.partition(" ")[2]: value for key, value in dropped["endpoints"].items()} == {
        key.partition(" ")[2]: value for key, value in put["endpoints"].items()
    }


# --- Between two looks of one packet ----------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "to"),
    [
        ({}, ("10.96.0.1", 80)),
        (NODE_PORT, ("192.168.1.1", 30080)),
        ({**NODE_PORT, **LOCAL}, ("192.168.1.1", 30080)),
        ({"sessionAffinity": "ClientIP"}, ("10.96.0.1", 80)),
    ],
)
def test_a_packet_that_meets_a_transaction_still_gets_an_endpoint(
    spec: dict[str, Any], to: tuple[str, int]
) -> None:
    """The kernel looks at one map after the other, and a transaction may come between."""
    pods = [pod(f"10.244.1.{number}", "n1") for number in (1, 2, 3)]
    before, after = (
        compiled(V4, by_key(routes(service(**spec), *some))) for some in (pods, pods[:1])
    )
    for name in (ENDPOINTS, LOCAL_ENDPOINTS):
        before.elements[name] = after.elements[name]
    found = outcomes(before, Packet("198.51.100.9", *to), V4.node_addresses)
    assert {(each.end, each.address) for each in found} == {(End.SENT, "10.244.1.1")}
