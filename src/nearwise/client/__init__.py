"""How objects get here: dumps from files, and the API of a live cluster.

Law: below the line, where files, clocks and networks are. Nothing is decided here. ``api`` talks
to the server, ``live`` reads a whole cluster, ``kubeconfig`` and ``credentials`` say where it is
and who we are, ``dump`` reads files. An error says what to do about it.
"""
