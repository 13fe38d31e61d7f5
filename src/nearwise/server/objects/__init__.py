"""Objects between the wire and the store: how they are read, kept, chosen and shown."""
