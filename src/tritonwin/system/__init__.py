"""Access to the system for all rooms: files, processes, the registry, data formats."""
