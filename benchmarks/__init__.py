"""How fast Nearwise is, always against something that runs at the same time on the same machine."""
