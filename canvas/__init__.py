"""What people draw: canvases, versions, relations, their validation and their conversion into specs."""
