"""A task's connection to its state stays open until Spark has closed its own end."""

from __future__ import annotations

from types import SimpleNamespace

from millstream.spark.compat import state_client


class Client:
    def set_handle_state(self, state):
        raise AssertionError("Spark would leave a file open for ever")


def test_a_client_says_nothing_at_its_end_and_stays_for_as_long_as_others_may_end(monkeypatch):
    monkeypatch.setattr(state_client, "_open", state_client._open.copy())
    many = state_client._open.maxlen
    clients = [Client() for _ in range(2 * many)]
    for client in clients:
        state_client.leave_open(SimpleNamespace(_statefulProcessorApiClient=client))
        client.set_handle_state("CLOSED")
    assert list(state_client._open) == clients[-many:]
