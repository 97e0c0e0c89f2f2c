"""The command `f5router doctor`: checks everything that `run` needs, and never stops at the first failure."""
