"""The controllers: events in, plans of the core, writes with retry."""
