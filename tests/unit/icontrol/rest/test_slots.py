"""Slots of requests under way."""

import threading

from f5router.icontrol.rest.slots import Slots
from tests.waiting import DEADLINE_S, until


def test_a_request_that_hangs_gives_up_its_slot():
    """Another one has it then; the end of the first frees no second one."""
    slots, gates, begun = Slots(1), [threading.Event() for _ in range(3)], list[int]()

    def request(number: int) -> None:
        with slots.use():
            begun.append(number)
            assert gates[number].wait(DEADLINE_S)

    threads = [threading.Thread(target=request, args=(number,), daemon=True) for number in range(3)]
    threads[0].start()
    until(lambda: begun == [0])
    threads[1].start()
    slots.give_up(threads[0].ident)
    until(lambda: begun == [0, 1])
    threads[2].start()
    gates[0].set()
    threads[0].join(DEADLINE_S)
    assert begun == [0, 1]
    gates[1].set()
    until(lambda: begun == [0, 1, 2])
    gates[2].set()
    for thread in threads:
        thread.join(DEADLINE_S)
    assert [slots.begun(thread.ident) for thread in threads] == [1, 1, 1]
    with slots.use():
        assert slots.begun(threading.get_ident()) == 1
