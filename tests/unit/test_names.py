"""Names as Kubernetes takes and refuses them."""

from __future__ import annotations

import pytest

from nearwise.model import names


@pytest.mark.parametrize(
    ("check", "fine"),
    [
        (names.dns_label, ["a", "0", "web-1", "a" * 63]),
        (names.dns_subdomain, ["a", "a.b-c.d", "a" * 253]),
        (names.qualified_name, ["a", "A_b.c-9", "example.com/Name", "a" * 63]),
        (names.label_value, ["", "A_b.c-9", "a" * 63]),
    ],
)
def test_good_names_get_no_complaint(check: names.Check, fine: list[str]) -> None:
    assert [check(name) for name in fine] == [[]] * len(fine)


@pytest.mark.parametrize(
    ("check", "name", "complaints"),
    [
        (names.dns_label, "", ["a lowercase RFC 1123 label must consist of"]),
        (names.dns_label, "Web", ["a lowercase RFC 1123 label must consist of"]),
        (names.dns_label, "a.b", ["must not contain dots"]),
        (names.dns_label, "a" * 64, ["must be no more than 63 characters"]),
        (names.dns_label, "é", ["a lowercase RFC 1123 label must consist of"]),
        (names.dns_subdomain, "a..b", ["a lowercase RFC 1123 subdomain must consist of"]),
        (names.dns_subdomain, "a" * 254, ["must be no more than 253 characters"]),
        (names.qualified_name, "a/b/c", ["a qualified name must consist of"]),
        (names.qualified_name, "/a", ["prefix part must be non-empty"]),
        (names.qualified_name, "A/a", ["prefix part a lowercase RFC 1123 subdomain must"]),
        (
            names.qualified_name,
            "a/",
            ["name part must be non-empty", "name part must consist of"],
        ),
        (names.label_value, "-a", ["a valid label must be an empty string or consist of"]),
        (
            names.label_value,
            "$" * 64,
            ["must be no more than 63 characters", "a valid label must be an empty string"],
        ),
    ],
)
def test_bad_names_are_refused_in_the_api_servers_words(
    check: names.Check, name: str, complaints: list[str]
) -> None:
    found = check(name)
    assert len(found) == len(complaints)
    assert all(said.startswith(words) for said, words in zip(found, complaints, strict=True))


def test_a_complaint_gives_examples_and_the_pattern() -> None:
    assert names.dns_label("_") == [
        "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', "
        "and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', "
        "regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
    ]
