"""The benchmark of the page: what it asks of a server, and what it notices."""

from contextlib import closing
from http.client import HTTPConnection

import pytest

from server.loopback import servers
from zibaldone.bench import page
from zibaldone.bench.outcome import Run
from zibaldone.bench.registry import PageOptions

pytestmark = [pytest.mark.enable_socket, pytest.mark.allow_hosts(["127.0.0.1"])]


class InThread:
    """A server of the benchmark's, in this process."""

    def __init__(self, folder):
        self._stack = servers(folder)
        self._address = self._stack.__enter__()()
        self.port = int(self._address.rpartition(":")[2].strip("/"))

    def cpu_s(self):
        return 0.0

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self._stack.__exit__(None, None, None)


@pytest.mark.wide
def test_each_kind_of_answer_is_measured(tmp_path, monkeypatch):
    """A row for each, of a page that says something about the messages of the user that it is asked for."""
    monkeypatch.setattr(page, "_server", lambda folder, log: InThread(folder))
    rows = page.run(PageOptions(sizes=(60,), requests=2), Run("", tmp_path)).figures["page"]
    assert [row.what for row in rows] == [wish.what for wish in page._WISHES]
    assert {(row.messages, row.requests) for row in rows} == {(60, 2)}
    assert all(0 < row.p50_ms <= row.p95_ms and row.kilobytes > 0 for row in rows)


def test_an_answer_that_is_no_page_ends_it(tmp_path):
    """No figure is made of an error."""
    nowhere = page._Wish("nowhere", lambda _: "/nowhere", is_fragment=False)
    with (
        InThread(tmp_path) as server,
        closing(HTTPConnection("127.0.0.1", server.port)) as connection,
        pytest.raises(RuntimeError, match=r"answers 404"),
    ):
        page._get(connection, nowhere, "")
