"""The node: watches services and slices, decides with ``routing``, and programs the kernel.

Law: what should be in the kernel is decided in ``nft``; here it is read and carried out.
"""
