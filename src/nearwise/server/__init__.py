"""The embedded API server: a Kubernetes API without a cluster."""
