"""The demo: an example cluster and a BIG-IP, both fakes, and the real router between them.

`make demo` runs it; `python -m mocks.demo` does the same in an environment that is there already.
"""
