"""The running router: threads, the loop, and the parts wired together."""
