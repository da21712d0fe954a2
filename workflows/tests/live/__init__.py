"""Live logs against real web processes: sockets of a real client, rows written by whoever a test says."""
