"""Answers about a cluster: a snapshot as a world, and what the decisions mean in it.

Law: pure, as all of the core, and no decision is taken a second time here: what goes where and why
comes from ``slices`` and ``routing``, and is counted, compared and told.
"""
