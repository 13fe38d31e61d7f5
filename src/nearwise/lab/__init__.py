"""A whole cluster on one machine: the embedded API server and what else belongs to it."""
