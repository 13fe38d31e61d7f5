"""The same data plane as the kernel speaks of it: messages of netlink, packed and unpacked.

Law: bytes to rulesets and back, and no socket. ``attributes`` is the form of netlink itself,
``expressions`` and ``decoding`` are rules, ``declarations`` sets, ``elements`` what is in them,
``messages`` a transaction, ``dump`` a table that is read.
"""
