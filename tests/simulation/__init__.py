"""A world for tests of what runs: a clock that jumps, an API server, and what goes wrong."""
