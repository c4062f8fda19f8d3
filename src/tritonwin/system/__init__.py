"""What asks the system, for any part: files, processes, the registry; nothing here knows a fact."""
