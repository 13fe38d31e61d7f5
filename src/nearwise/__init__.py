"""Nearwise: the Kubernetes EndpointSlice system in Python."""

__version__ = "0.1.0"
