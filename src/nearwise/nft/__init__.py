"""The data plane as data: what a node's kernel is to do with connections to services.

Law: pure, as all of the core: no sockets, no programs, no clock. ``layout`` is the shape of the
table, ``compile`` fills it from services and selections, ``diff`` says what changes, ``trace``
follows a packet through it, ``text`` and ``netlink`` write it as nft and the kernel read it.
"""
