"""The node: watches services and slices, decides with ``routing``, and programs the kernel.

Law: what should be in the kernel is decided in ``nft``; here it is read and carried out.

``process`` puts it together. A change goes one way::

    caches --> agent --> routes -----> programming --> kernel_table --> netlink or program
    (heard)    (when)    (for whom)    (each family)   (difference)     (to the kernel)
                                          '----------> forgetting, conntrack: stale flows and pins

``backends`` says which of the two speaks to the kernel. ``health``, ``health_checks`` and
``health_ports`` are what load balancers are told; ``counts``, ``fallbacks``, ``metrics`` and
``operator_pages`` what operators are; ``dry_run`` is the same table without a kernel.
"""
