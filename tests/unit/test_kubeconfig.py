"""Reading kubeconfig files: which entry wins, what it means, and what a broken one says."""

from __future__ import annotations

import base64
import json
import os
import stat
import sys
import textwrap
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from nearwise.client import kubeconfig
from nearwise.client.credentials import Credentials, Secret
from nearwise.client.errors import ClusterError
from nearwise.client.kubeconfig import find_access

SECRET = "s3cr3t-nobody-may-see"

Write = Callable[..., str]
MakePlugin = Callable[..., str]

CONFIG = """
apiVersion: v1
kind: Config
current-context: prod
clusters:
- name: blue
  cluster: {server: "https://blue.example:6443/"}
users:
- name: alice
  user: {token: s3cr3t-nobody-may-see}
contexts:
- name: prod
  context: {cluster: blue, user: alice, namespace: shop}
- name: bare
  context: {cluster: blue, user: ""}
"""


@pytest.fixture(autouse=True)
def no_configuration_of_this_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write a file below a folder of our own and return its path."""

    def write(text: str, name: str = "config") -> str:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
        return str(path)

    return write


def one_user(user: str, cluster: str = 'server: "https://blue.example"') -> str:
    return (
        f"current-context: c\nclusters: [{{name: blue, cluster: {{{cluster}}}}}]\n"
        f"users: [{{name: alice, user: {{{user}}}}}]\n"
        "contexts: [{name: c, context: {cluster: blue, user: alice}}]\n"
    )


def refusal(path: str, context: str | None = None) -> str:
    with pytest.raises(ClusterError) as caught:
        find_access(path, context).credentials.identity()
    assert SECRET not in str(caught.value)
    return str(caught.value)


def authorization(path: str) -> str | None:
    return shown_by(find_access(path).credentials)


def shown_by(credentials: Credentials) -> str | None:
    authorization = credentials.identity().authorization
    return authorization.reveal() if authorization else None


# --- Which file and which entry -------------------------------------------------------------


def test_the_current_context_names_cluster_user_and_namespace(write: Write) -> None:
    path = write(CONFIG)
    access = find_access(path)
    assert access.server == "https://blue.example:6443"
    assert access.namespace == "shop"
    assert access.origin == f"context prod in {path}"
    assert authorization(path) == f"Bearer {SECRET}"


def test_another_context_is_chosen_by_name_and_may_have_no_user(write: Write) -> None:
    access = find_access(write(CONFIG), "bare")
    assert access.namespace == "default"
    assert access.credentials.identity().authorization is None


def test_home_is_read_when_nothing_is_named(write: Write) -> None:
    write(CONFIG, "home/.kube/config")
    assert find_access().server == "https://blue.example:6443"


def test_of_several_files_the_first_to_name_an_entry_wins_and_missing_ones_are_passed_over(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = write(
        """
        clusters: [{name: blue, cluster: {server: "https://first"}}]
        contexts: null
        """,
        "first",
    )
    monkeypatch.setenv("KUBECONFIG", os.pathsep.join(["/nowhere", first, write(CONFIG), ""]))
    access = find_access()
    assert access.server == "https://first"
    assert access.namespace == "shop"


def test_paths_are_relative_to_the_file_that_has_them(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("the ca", "sub/ca.pem")
    write(f" {SECRET}\n", "sub/token")
    text = one_user("tokenFile: token", 'server: "https://blue", certificate-authority: ca.pem')
    path = write(text, "sub/config")
    monkeypatch.chdir(Path(path).parent.parent)
    assert find_access("sub/config").authority == "the ca"
    assert authorization("sub/config") == f"Bearer {SECRET}"


# --- Clusters -------------------------------------------------------------------------------


def test_cluster_settings_arrive(write: Write) -> None:
    data = base64.b64encode(b"the ca").decode()
    path = write(
        one_user(
            "",
            f'server: "https://10.0.0.1:6443/k8s/clusters/c-1", tls-server-name: kubernetes, '
            f'proxy-url: "http://user:{SECRET}@proxy:3128", certificate-authority-data: {data}, '
            "certificate-authority: /not/read",
        )
    )
    access = find_access(path)
    assert access.server == "https://10.0.0.1:6443/k8s/clusters/c-1"
    assert access.tls_server_name == "kubernetes"
    assert access.authority == "the ca"
    assert access.proxy is not None
    assert access.proxy.reveal() == f"http://user:{SECRET}@proxy:3128"
    assert SECRET not in repr(access)


@pytest.mark.parametrize(
    ("cluster", "sentence"),
    [
        ("server: blue.example", "its server is not an address like https://host:6443"),
        ("", "its server is not an address like https://host:6443"),
        ('server: "https://[::1"', "its server is not an address like https://host:6443"),
        (
            'server: "https://blue", proxy-url: "socks5://proxy"',
            "its proxy-url is not a http or https address; others are not supported",
        ),
        (
            'server: "https://blue", certificate-authority-data: "%%%"',
            "certificate-authority-data is not base64 of PEM text",
        ),
        (
            'server: "https://blue", certificate-authority: /nowhere/ca.pem',
            "certificate-authority /nowhere/ca.pem: No such file or directory",
        ),
        (
            'server: "https://blue", insecure-skip-tls-verify: true, '
            "certificate-authority-data: Y2E=",
            "certificate-authority and insecure-skip-tls-verify exclude each other",
        ),
    ],
)
def test_a_broken_cluster_is_named_with_its_file(write: Write, cluster: str, sentence: str) -> None:
    path = write(one_user("", cluster))
    assert refusal(path) == f"cluster blue in {path}: {sentence}"


# --- Users ----------------------------------------------------------------------------------


def test_a_password_is_sent_as_basic_authorization(write: Write) -> None:
    path = write(one_user("username: alice, password: pw"))
    assert authorization(path) == "Basic " + base64.b64encode(b"alice:pw").decode()


def test_a_client_certificate_comes_from_data_or_file(write: Write) -> None:
    write("the key", "key.pem")
    data = base64.b64encode(b"the certificate").decode()
    path = write(one_user(f"client-certificate-data: {data}, client-key: key.pem"))
    identity = find_access(path).credentials.identity()
    assert identity.certificate == "the certificate"
    assert identity.key is not None
    assert identity.key.reveal() == "the key"


def test_a_token_file_is_read_each_time_and_wins_over_a_token(write: Write) -> None:
    path = write(one_user("token: old, tokenFile: token"))
    credentials = find_access(path).credentials
    assert shown_by(credentials) == "Bearer old"
    write("new", "token")
    assert shown_by(credentials) == "Bearer new"
    write("newer", "token")
    assert shown_by(credentials) == "Bearer newer"


def test_impersonation_becomes_headers(write: Write) -> None:
    path = write(
        one_user("token: t, as: bob, as-groups: [dev, ops], as-user-extra: {scopes: [view]}")
    )
    assert find_access(path).headers == (
        ("Impersonate-User", "bob"),
        ("Impersonate-Group", "dev"),
        ("Impersonate-Group", "ops"),
        ("Impersonate-Extra-scopes", "view"),
    )


@pytest.mark.parametrize(
    ("user", "sentence"),
    [
        (
            "auth-provider: {name: gcp, config: {access-token: s3cr3t-nobody-may-see}}",
            "auth-provider gcp is not supported: install gke-gcloud-auth-plugin "
            "and get the credentials again with gcloud",
        ),
        (
            "auth-provider: {name: homemade}",
            "auth-provider homemade is not supported: use an exec plugin or a token",
        ),
        (
            "client-certificate-data: Y2VydA==",
            "client-certificate and client-key need each other",
        ),
        (
            "client-key-data: s3cr3t-nobody-may-see, client-certificate-data: Y2VydA==",
            "client-key-data is not base64 of PEM text",
        ),
    ],
)
def test_a_broken_user_is_named_with_its_file(write: Write, user: str, sentence: str) -> None:
    path = write(one_user(user))
    assert refusal(path) == f"user alice in {path}: {sentence}"


def test_a_missing_token_file_says_so(write: Write, tmp_path: Path) -> None:
    path = write(one_user("tokenFile: gone"))
    assert refusal(path) == (
        f"cannot read the token file {tmp_path / 'gone'}: No such file or directory"
    )


# --- Broken files ---------------------------------------------------------------------------


def test_a_missing_file_that_was_asked_for_says_so() -> None:
    assert refusal("/nowhere/config") == (
        "cannot read the kubeconfig /nowhere/config: No such file or directory"
    )


def test_no_configuration_at_all_says_where_it_looked_and_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(ClusterError) as caught:
        find_access(instead=", or read a dump with -f")
    assert str(caught.value) == (
        f"no cluster to talk to: {tmp_path / 'home/.kube/config'} does not exist; "
        "name a kubeconfig with --kubeconfig, or read a dump with -f"
    )


@pytest.mark.parametrize("text", ["", "# nothing\n", "apiVersion: v1\nkind: Config\n"])
def test_an_empty_file_names_no_cluster(write: Write, text: str) -> None:
    assert "names none" in refusal(write(text))


def test_yaml_errors_name_the_line_and_do_not_quote_it(write: Write) -> None:
    path = write(f"users:\n- name: alice\n  user: {{token: {SECRET}\n")
    message = refusal(path)
    assert message.startswith(f"kubeconfig {path}, line ")
    assert message.endswith(": this is not YAML")


def test_a_wrong_type_names_the_field(write: Write) -> None:
    path = write("clusters: {name: blue}")
    assert refusal(path) == f"kubeconfig {path}: clusters: expected a list or null, got a mapping"


def test_a_token_that_is_a_number_is_refused_without_showing_it(write: Write) -> None:
    message = refusal(write(one_user("token: 12345678")))
    assert "users[0].user.token: expected Secret, got a whole number" in message
    assert "12345678" not in message


def test_unknown_contexts_clusters_and_users_name_what_there_is(write: Write) -> None:
    path = write(CONFIG)
    assert refusal(path, "dev") == f"no context dev in {path}; there are: bare, prod"
    path = write(CONFIG.replace("current-context: prod", ""))
    assert refusal(path) == (
        f"no current context in {path}: choose one with --context (bare, prod)"
    )
    path = write(CONFIG.replace("cluster: blue", "cluster: green"))
    assert refusal(path) == (f"context prod in {path}: its cluster 'green' is in none of the files")
    path = write(CONFIG.replace("user: alice", "user: bob"))
    assert refusal(path) == f"context prod in {path}: its user 'bob' is in none of the files"


# --- Credential plugins ---------------------------------------------------------------------


@pytest.fixture
def plugin(write: Write) -> MakePlugin:
    """Write a program that notes what it was told and prints this; return a user for it."""

    def plugin(printed: object, extra: str = "", code: int = 0) -> str:
        program = write(
            f"""\
            #!{sys.executable}
            import os, sys
            folder = os.path.dirname(os.path.abspath(__file__))
            with open(os.path.join(folder, "runs"), "a") as notes:
                notes.write(os.environ["KUBERNETES_EXEC_INFO"] + "\\n")
            with open(os.path.join(folder, "told"), "w") as notes:
                notes.write(" ".join(sys.argv[1:]) + os.environ.get("FLAVOUR", ""))
            print({json.dumps(printed)!r})
            sys.exit({code})
            """,
            "bin/get-token",
        )
        Path(program).chmod(stat.S_IRWXU)
        return (
            "exec: {apiVersion: client.authentication.k8s.io/v1, command: ./bin/get-token, "
            f"interactiveMode: Never, {extra}}}"
        )

    return plugin


def credential(**status: str) -> dict[str, object]:
    return {
        "apiVersion": "client.authentication.k8s.io/v1",
        "kind": "ExecCredential",
        "status": status,
    }


def test_a_plugin_gives_a_token_and_is_told_about_itself_and_the_cluster(
    write: Write, plugin: MakePlugin, tmp_path: Path
) -> None:
    user = plugin(
        credential(token="fresh"),
        'args: [--for, blue], env: [{name: FLAVOUR, value: "!"}], provideClusterInfo: true',
    )
    cluster = (
        'server: "https://blue", certificate-authority-data: Y2E=, '
        "extensions: [{name: client.authentication.k8s.io/exec, extension: {audience: x}}]"
    )
    assert authorization(write(one_user(user, cluster))) == "Bearer fresh"
    assert (tmp_path / "bin/told").read_text() == "--for blue!"
    assert json.loads((tmp_path / "bin/runs").read_text()) == {
        "apiVersion": "client.authentication.k8s.io/v1",
        "kind": "ExecCredential",
        "spec": {
            "interactive": False,
            "cluster": {
                "server": "https://blue",
                "certificate-authority-data": "Y2E=",
                "config": {"audience": "x"},
            },
        },
    }


def test_a_plugin_may_give_a_client_certificate(write: Write, plugin: MakePlugin) -> None:
    user = plugin(credential(clientCertificateData="certificate", clientKeyData="key"))
    identity = find_access(write(one_user(user))).credentials.identity()
    assert (identity.authorization, identity.certificate) == (None, "certificate")
    assert identity.key is not None
    assert identity.key.reveal() == "key"


@pytest.mark.parametrize(
    ("expires_in", "runs"),
    [(timedelta(hours=1), 1), (timedelta(seconds=5), 3), (-timedelta(hours=1), 3), (None, 1)],
)
def test_a_plugin_runs_again_when_its_answer_has_run_out(
    write: Write, plugin: MakePlugin, tmp_path: Path, expires_in: timedelta | None, runs: int
) -> None:
    status = {"token": "t"}
    if expires_in is not None:
        status["expirationTimestamp"] = (datetime.now(UTC) + expires_in).isoformat()
    credentials = find_access(write(one_user(plugin(credential(**status))))).credentials
    for _ in range(3):
        credentials.identity()
    assert len((tmp_path / "bin/runs").read_text().splitlines()) == runs


def test_a_plugin_runs_again_when_the_server_did_not_accept_its_answer(
    write: Write, plugin: MakePlugin, tmp_path: Path
) -> None:
    credentials = find_access(write(one_user(plugin(credential(token="t"))))).credentials
    credentials.identity()
    assert credentials.can_renew
    credentials.renew()
    credentials.identity()
    assert len((tmp_path / "bin/runs").read_text().splitlines()) == 2


def test_a_token_beside_a_plugin_wins(write: Write, plugin: MakePlugin) -> None:
    user = plugin(credential(token="t")) + ", token: fixed"
    assert authorization(write(one_user(user))) == "Bearer fixed"


@pytest.mark.parametrize(
    ("printed", "sentence"),
    [
        (SECRET, "did not print an ExecCredential (expected a mapping, got text)"),
        (credential(), "gave neither a token nor a client certificate"),
        (
            credential(clientCertificateData="c"),
            "gave only one of client certificate and key",
        ),
        (
            {"apiVersion": "v1", "kind": "Status", "status": {"token": SECRET}},
            "printed a Status of v1, not an ExecCredential of client.authentication.k8s.io/v1",
        ),
    ],
)
def test_a_plugin_that_prints_something_else_is_refused_without_quoting_it(
    write: Write, plugin: MakePlugin, tmp_path: Path, printed: object, sentence: str
) -> None:
    message = refusal(write(one_user(plugin(printed))))
    assert message == f"credential plugin {tmp_path / 'bin/get-token'} {sentence}"


def test_a_plugin_that_fails_says_with_what(write: Write, plugin: MakePlugin) -> None:
    message = refusal(write(one_user(plugin(credential(token=SECRET), code=7))))
    assert message.endswith("get-token ended with exit code 7")


def test_a_missing_plugin_shows_how_to_install_it(write: Write) -> None:
    path = write(
        one_user(
            "exec: {apiVersion: client.authentication.k8s.io/v1beta1, command: no-such-plugin, "
            'installHint: "brew install it"}'
        )
    )
    assert refusal(path) == (
        "credential plugin no-such-plugin cannot be started: No such file or directory\n"
        "brew install it"
    )


def test_a_plugin_that_must_ask_the_user_needs_a_terminal(write: Write, plugin: MakePlugin) -> None:
    user = plugin(credential(token="t")).replace("Never", "Always")
    assert refusal(write(one_user(user))).endswith(
        "wants to ask you something, but standard input is no terminal"
    )


def test_an_old_plugin_protocol_is_refused_by_name(write: Write) -> None:
    path = write(
        one_user("exec: {apiVersion: client.authentication.k8s.io/v1alpha1, command: old}")
    )
    assert refusal(path) == (
        "credential plugin old: apiVersion 'client.authentication.k8s.io/v1alpha1' is not "
        "supported; use client.authentication.k8s.io/v1"
    )


# --- In a pod -------------------------------------------------------------------------------


def test_in_a_pod_the_service_account_is_used_and_its_token_read_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name, text in {"token": "one\n", "ca.crt": "the ca", "namespace": "tools\n"}.items():
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(kubeconfig, "_SERVICE_ACCOUNT", tmp_path)
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "fd00::1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "6443")
    access = find_access()
    assert access.server == "https://[fd00::1]:6443"
    assert (access.namespace, access.authority) == ("tools", "the ca")
    assert shown_by(access.credentials) == "Bearer one"
    (tmp_path / "token").write_text("two")
    assert shown_by(access.credentials) == "Bearer two"


def test_a_context_that_was_asked_for_is_not_looked_for_in_the_pod(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    with pytest.raises(ClusterError, match="no cluster to talk to"):
        find_access(context="prod")


# --- Secrets --------------------------------------------------------------------------------


def test_a_secret_shows_itself_to_nobody() -> None:
    secret = Secret(SECRET)
    assert SECRET not in f"{secret} {secret!r} {[secret]}"
    assert secret.reveal() == SECRET
