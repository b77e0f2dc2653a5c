"""Topics that come and go while somebody asks for them."""

from __future__ import annotations

import pytest

from millstream.kafka.client import metadata
from millstream.kafka.client.connection import Connection
from topics import new_topic


def test_a_topic_that_is_deleted_after_it_was_listed_is_left_out(
    broker, monkeypatch: pytest.MonkeyPatch
):
    there = new_topic(broker.servers)
    listed = metadata.cluster_topics

    def with_one_that_is_gone(connection: Connection):
        return {**listed(connection), "gone": None}

    monkeypatch.setattr(metadata, "cluster_topics", with_one_that_is_gone)
    names = metadata.topic_names(Connection(broker.servers))
    assert there in names
    assert "gone" not in names
