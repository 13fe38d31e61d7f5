"""What turns on the event loop in controllers, proxy and API server alike.

Law: the machines of ``machinery`` decide, these carry out: they wait, ask the API server through
the protocols of ``cluster``, and tell whoever listens. Nothing here knows a slice or a rule.
"""
