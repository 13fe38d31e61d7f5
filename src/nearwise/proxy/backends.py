"""How the kernel is spoken to: by netlink, or by the nft program where netlink is refused."""

from __future__ import annotations

import logging

from nearwise.proxy.kernel import KernelError
from nearwise.proxy.netlink import NetlinkKernel
from nearwise.proxy.program import ProgramKernel

_log = logging.getLogger(__name__)


def open_kernel(backend: str = "auto") -> NetlinkKernel | ProgramKernel:
    """Open the kernel as a backend (``auto``, ``netlink``, ``nft``) does. Raises KernelError."""
    if backend == "nft":
        return ProgramKernel()
    try:
        return NetlinkKernel()
    except KernelError as netlink:
        if backend == "netlink":
            raise
        try:
            kernel = ProgramKernel()
        except KernelError as program:
            raise KernelError(f"{netlink}; and {program}") from None
        _log.warning("netlink is refused (%s): the nft program is used", netlink)
        return kernel
