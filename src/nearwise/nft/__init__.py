"""The data plane as data: what a node's kernel is to do with connections to services.

Law: pure, as all of the core: no sockets, no programs, no clock. Read ``ruleset`` first (what a
table can have), then ``layout`` (the shape of ours, with a picture). What fills it goes one way::

    frontends --> plans --> compile --> diff
    (where)       (what)    (elements)  (what changes)
    sources       pools

``text`` and ``listing`` are the nft program's form of it, ``netlink`` the kernel's. ``trace``
follows a packet through it, and ``choices`` says which remembered endpoints are stale. The page
for users is ``docs/nftables.md``.
"""
