"""Live logs: what executions say and become, to whoever watches, over WebSockets."""
