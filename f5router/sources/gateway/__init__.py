"""The Gateway API: listeners, attachment, precedence and conditions as values, and the virtual Routes."""
