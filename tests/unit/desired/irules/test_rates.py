"""openshift_limits_irule: connections and requests of each client, counted in the session table."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from f5router.desired import irules
from mocks.bigip.dataplane.session_table import SessionTable
from tests.examples import examples
from tests.unit.desired.irules.tmm import SENT, Tmm

FOLDER = "/P/sub"
LIMITS, GUARD = irules.limits_irule(FOLDER), irules.request_irule(FOLDER, page=True)
RATED, OTHER = (f"{FOLDER}/openshift_a_web___0123456789abcde{last}__rated" for last in "fe")
LISTED, OPEN = f"{FOLDER}/openshift_a_web___0123456789abcdef__limited", f"{FOLDER}/openshift_a_web"
GROUP, LIST = f"{FOLDER}/openshift_limits_dg", f"{FOLDER}/openshift_addresses_0_dg"
IN, OUT = "10.0.0.1", "10.0.0.2"


class Device:
    """Connections to one BIG-IP, one after the other, on a clock that a test moves."""

    def __init__(self, tmm: Tmm, *limits: int, pool: str = RATED) -> None:
        self.tmm, self.pool, self.now = tmm, pool, 3000
        data = "/".join(map(str, limits))
        self.groups = {GROUP: {RATED: f"-/{data}", OTHER: f"-/{data}",
                               LISTED: f"openshift_addresses_0_dg/{data}"}, LIST: {IN: ""}}
        self.table = SessionTable(lambda: self.now)
        self._port = 40000

    def connect(self, *selected: str, client: str = IN, closed: bool = True, **how) -> bool:
        """True if no event rejects the connection, which asks once unless told otherwise."""
        self._port += 1
        connection = self.tmm.run(
            (LIMITS, GUARD), selected=selected or (self.pool, SENT), client=client, groups=self.groups,
            table=self.table, now=self.now, closed=closed, **{"port": self._port, **how})
        assert connection.effects in ((), (("reject",),))
        assert all(name.startswith(("f5r_", "f5router_")) for name in connection.variables)
        self.logs = connection.logs
        return not connection.effects

    @property
    def seats(self) -> int:
        """Connections that count as open."""
        return sum(subtable is not None for subtable, _ in self.table.live())


@pytest.fixture
def device(tmm):
    return lambda *limits, **how: Device(tmm, *limits, **how)


@pytest.mark.parametrize("pool", [RATED, LISTED, RATED.rsplit("/", 1)[1]], ids=["all", "list", "bare name"])
class TestLimits:
    def test_connections_in_a_window(self, device, pool):
        big = device(0, 3, 0, pool=pool)
        assert [big.connect() for _ in range(4)] == [True, True, False, False]
        big.now += 6
        assert big.connect()

    def test_requests_in_a_window(self, device, pool):
        big = device(0, 0, 2, pool=pool)
        assert not big.connect(pool, SENT, SENT, SENT)
        assert not big.connect()
        big.now += 20
        assert big.connect(pool, SENT, SENT)

    def test_connections_at_a_time(self, device, pool):
        big = device(3, 0, 0, pool=pool)
        assert [big.connect(closed=False) for _ in range(3)] == [True, True, False]
        assert big.seats == 2
        big.now += 299
        assert not big.connect()
        big.now += 1
        assert big.connect()

    def test_closed_connections_do_not_count(self, device, pool):
        big = device(3, 0, 0, pool=pool)
        assert all(big.connect() for _ in range(9))
        assert big.seats == 0


@pytest.mark.parametrize(("later_s", "admitted"), [(3, 3), (4, 5), (5, 8), (6, 9)])
def test_the_window_before_counts_in_part(device, later_s, admitted):
    """Its 8 connections count by the part that is not over: five sixths, a half, a sixth, nothing."""
    big = device(0, 10, 0)
    assert all(big.connect() for _ in range(8))
    big.now += later_s
    assert [big.connect() for _ in range(12)] == [True] * admitted + [False] * (12 - admitted)


def test_clients_and_routes_do_not_share(device):
    big = device(2, 2, 2)
    assert big.connect(closed=False)
    assert big.connect(client=OUT, closed=False)
    assert big.connect(OTHER, SENT, closed=False)
    assert big.connect(client=f"{IN}%5", closed=False)
    assert not big.connect()


def test_no_limits_no_table(device):
    """Neither a pool without limits nor one with a list alone needs the session table."""
    big = device(2, 2, 2)
    big.groups[GROUP][LISTED] = "openshift_addresses_0_dg"
    assert big.connect(OPEN, SENT, SENT, OPEN, SENT, faults=["table", "clock"])
    assert big.connect(LISTED, SENT, SENT, faults=["table", "clock"])
    assert not big.logs
    assert not big.connect(LISTED, SENT, client=OUT)
    assert not list(big.table.live())


def test_a_client_that_is_not_listed_does_not_count(device):
    big = device(2, 2, 2, pool=LISTED)
    assert not big.connect(client=OUT)
    assert not list(big.table.live())


@pytest.mark.parametrize("selected", [
    (RATED, SENT, OPEN, SENT), (RATED, SENT, OTHER, SENT, OPEN), (RATED, RATED, SENT, OPEN),
    (RATED, SENT, LISTED)])
def test_a_connection_that_moves_on_gives_its_place_back(device, selected):
    """Another Route has it then, or nobody; once closed, nobody."""
    big = device(3, 0, 0)
    assert big.connect(*selected, closed=False)
    assert big.seats == (selected[-1] == LISTED)
    assert [big.connect(closed=False) for _ in range(3)] == [True, True, False]
    assert big.seats == 2 + (selected[-1] == LISTED)


def test_a_connection_counts_once_for_each_stay(device):
    """Also if it is balanced again, as after a member that refuses it."""
    big = device(0, 3, 0)
    assert big.connect(RATED, RATED, SENT, RATED, SENT, SENT)
    assert big.connect(OPEN, RATED, SENT)
    assert not big.connect()


def test_each_request_counts_once(device):
    big = device(0, 0, 4)
    assert big.connect(RATED, RATED, SENT, SENT, RATED, SENT)
    assert big.connect(OPEN, SENT, RATED, SENT)
    assert not big.connect()


def test_requests_keep_the_place_of_a_connection(device, tmm):
    """The lease begins anew; reading the number of connections does not do that."""
    big = device(3, 0, 0)
    assert big.connect(closed=False, port=1)
    big.now += 200
    assert big.connect(RATED, SENT, SENT, closed=False, port=1)
    big.now += 200
    assert big.seats == 1
    assert big.connect(closed=False)
    big.now += 100
    assert big.seats == 1


def test_a_refused_connection_gives_its_place_back_at_once(device):
    big = device(9, 2, 0)
    assert big.connect(closed=False)
    assert not big.connect(closed=False)
    assert big.seats == 1


@pytest.mark.parametrize("fault", ["table", "clock", "IP::client_addr", "TCP::client_port"])
def test_everybody_gets_in_where_counting_fails(device, fault):
    big = device(2, 2, 2)
    assert all(big.connect(RATED, SENT, SENT, SENT, SENT, OTHER, SENT, faults=[fault]) for _ in range(3))
    assert len(big.logs) == 1


@pytest.mark.parametrize("data", [
    "", "-", "-/", "-/2/2", "-/a/b/c", "-/2/2/2/2", "-/-2/2/2", "/", "[reject]", "-/[reject]/2/2",
    "-/2/2/2\n", "-/0/0/0"])
def test_a_record_that_says_nothing_limits_nobody(device, data):
    big = device(2, 2, 2)
    big.groups[GROUP][RATED] = data
    assert all(big.connect() for _ in range(3))
    assert not big.logs


@pytest.mark.parametrize("group", [None, {}])
def test_without_a_record_everybody_gets_in(device, group):
    big = device(2, 2, 2)
    big.groups = {} if group is None else {GROUP: group}
    assert all(big.connect() for _ in range(3))


@pytest.mark.parametrize("data", ["", "-/2/2/2", "/2/2/2", "gone/2/2/2", "-"])
def test_a_pool_with_a_list_stays_closed_without_it(device, data):
    big = device(2, 2, 2, pool=LISTED)
    big.groups[GROUP][LISTED] = data
    assert not big.connect()


def test_a_bound_of_clients(device, monkeypatch):
    """Beyond it nobody is counted: the session table does not grow with each address."""
    big = device(0, 2, 0)
    clients = f"f5router connections {RATED} {big.now // 3}"
    big.table.put(None, clients.encode(), str(irules.MOST_CLIENTS - 1).encode())
    for number in range(5):
        assert big.connect(client=f"10.0.1.{number}")
    assert len(list(big.table.live())) == 2
    assert not big.connect(client="10.0.1.0")
    assert big.connect(client="10.0.1.1")


@settings(max_examples=examples(30), deadline=None)
@given(st.integers(2, 6), st.lists(st.integers(0, 4), min_size=1, max_size=12))
def test_a_rate_is_never_far_from_that_of_a_sliding_window(tmm, limit, pauses):
    """No more than twice the limit gets in within 3 s; whoever stays below half of it always does."""
    big, admitted, asked = Device(tmm, 0, limit, 0), [], []
    for pause in pauses:
        big.now += pause
        recent = sum(time > big.now - 6 for time in asked)
        asked.append(big.now)
        let_in = big.connect()
        if let_in:
            admitted.append(big.now)
        if recent + 1 < limit:
            assert let_in
        assert sum(time > big.now - 3 for time in admitted) < 2 * limit
