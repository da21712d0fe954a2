"""An installation with processes of its own, for tests that kill them."""
