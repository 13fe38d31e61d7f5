"""A node's rules: how long until the kernel has them, and what they cost the packets.

Law: what is measured is what the proxy does, on a real kernel, in network namespaces that are made
for the case and gone after it; so it needs root. Beside it stands a chain for each service and each
endpoint, the shape that kube-proxy's nftables mode has, loaded by the nft program in the same run.
"""
