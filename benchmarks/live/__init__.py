"""The running system, measured from outside: ``nearwise up`` in a process, the load in another.

Law: what is measured is what people run, started by its command and asked over TLS. Both
processes share the cores of one machine, so the load takes its part of the time. What stands
beside a figure was measured with the same load, at the same time.
"""
