"""What the control plane writes: pods to endpoints to packed slices, hints, mirroring.

Law: pure, as all of the core. Objects and the memory of the last run go in, a plan comes out;
nothing here reads or writes a cluster. Which hints a service wants is ``asked``, what its slices
should be is ``reconcile``, or ``mirror`` where they come from Endpoints.
"""
