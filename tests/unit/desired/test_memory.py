"""Memory that a Route takes in the engine, in bytes that Python allocates: the same on any machine."""

import gc
import tracemalloc
from dataclasses import replace

from benchmarks.cluster import SECURED
from benchmarks.mixed import Size, cluster
from f5router.desired.engine import Engine
from f5router.model.ltm import Pool, Rule
from tests.builders import FACTS, Settings

ROUTES, NODES = 200, 5
MOST = 6500
"""Bytes of a Route with its pool, without those of the cluster's own objects."""


def test_memory_of_a_route():
    """Also after everything was built anew, because the BIG-IP was read."""
    engine = Engine(Settings())
    engine.apply(cluster(Size(20, NODES, ())))  # what is there once for all Routes
    everything = cluster(Size(ROUTES, NODES, ()))
    gc.collect()
    tracemalloc.start()
    try:
        engine.apply(everything)
        engine.take_changes()
        engine.set_facts(replace(FACTS, version=(15, 1)))
        engine.take_changes()
        gc.collect()
        taken, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert taken / ROUTES < MOST


def test_objects_that_are_built_anew():
    """An object that is as it was before stays the same one, and with it what the device holds of it."""
    engine = Engine(Settings())
    engine.apply(cluster(Size(20, NODES, SECURED)))
    engine.set_facts(FACTS)
    before = {id(ref): obj for ref, obj in engine.objects.items()}
    engine.set_facts(replace(FACTS, version=(15, 1)))
    assert engine.objects
    for ref, obj in engine.objects.items():
        if isinstance(obj, Rule) or ("example.com" in ref.path and not isinstance(obj, Pool)):
            assert before[id(ref)] is obj
            assert obj.ref is ref
