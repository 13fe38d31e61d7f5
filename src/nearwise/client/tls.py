"""How the server is checked, and what certificate we show."""

from __future__ import annotations

import ssl
import tempfile
from pathlib import Path

from nearwise.client.credentials import Identity
from nearwise.client.errors import ClusterError
from nearwise.client.kubeconfig import Access


def tls_context(access: Access, identity: Identity) -> ssl.SSLContext:
    """Return how to check the server, and what to show to it.

    Python 3.13 turned on ``VERIFY_X509_STRICT``, which refuses the certificates of many clusters
    (no Authority Key Identifier); kubectl does not ask for that, and neither do we. Raises
    ClusterError for certificates and keys that are none.
    """
    try:
        context = ssl.create_default_context(cadata=access.authority)
    except (ssl.SSLError, ValueError) as error:
        raise ClusterError(f"the certificate-authority of {access.origin}: {error}") from None
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    if access.insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if identity.certificate and identity.key:
        # The ssl module takes files only. The folder is ours alone (0700) and short-lived.
        with tempfile.TemporaryDirectory(prefix="nearwise-") as folder:
            path = Path(folder, "client.pem")
            path.write_text(f"{identity.certificate}\n{identity.key.reveal()}")
            try:
                context.load_cert_chain(path, password="")
            except (ssl.SSLError, ValueError):
                raise ClusterError(
                    f"the client certificate and key of {access.origin} are not usable: "
                    "both must be PEM, belong together, and have no pass phrase"
                ) from None
    return context
