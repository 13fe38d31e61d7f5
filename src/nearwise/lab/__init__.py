"""A whole cluster on one machine: the embedded API server and what else belongs to it.

The control plane, which is all of ``nearwise up``: ``control_plane`` puts it together,
``local_cluster`` is the API without a network, ``dumps`` brings objects in, ``kubelets`` takes
pods away that have ended.

A lab with nodes and packets, ``nearwise lab``, from the outside in: ``running`` is a lab for
commands and tests. ``topology`` says what there is, ``starting`` makes it, ``process`` is what
runs then: ``machine`` does on ``hosts`` what the objects say, and ``reports`` what happens.
``network``, ``namespaces``, ``addresses`` and ``delays`` are its cables, ``pods`` and ``relay``
programs of their own. ``probe`` sends connections and ``tally`` counts the answers; ``status``,
``settling`` and ``proxied`` look whether all is as it should be.
"""
