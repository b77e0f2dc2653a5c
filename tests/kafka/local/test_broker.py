"""The files of a local broker."""

from __future__ import annotations

from millstream.kafka.local.broker import Broker, new_cluster_id, write_settings


def brokers_in(folder, count: int) -> list[Broker]:
    return [Broker(n, 9091 + n, 19091 + n, folder / f"broker-{n}") for n in range(1, count + 1)]


def settings_of(broker: Broker) -> dict[str, str]:
    lines = (broker.folder / "server.properties").read_text().splitlines()
    return dict(line.split("=", 1) for line in lines)


def test_three_brokers_replicate_all_topics_and_need_two_for_a_write(tmp_path):
    brokers = brokers_in(tmp_path, 3)
    write_settings(brokers[1], brokers)
    settings = settings_of(brokers[1])
    assert settings["node.id"] == "2"
    assert settings["advertised.listeners"] == "PLAINTEXT://127.0.0.1:9093"
    assert settings["default.replication.factor"] == "3"
    assert settings["offsets.topic.replication.factor"] == "3"
    assert settings["min.insync.replicas"] == "2"
    voters = "1@127.0.0.1:19092,2@127.0.0.1:19093,3@127.0.0.1:19094"
    assert settings["controller.quorum.voters"] == voters


def test_one_broker_replicates_nothing(tmp_path):
    brokers = brokers_in(tmp_path, 1)
    write_settings(brokers[0], brokers)
    assert settings_of(brokers[0])["default.replication.factor"] == "1"
    assert settings_of(brokers[0])["min.insync.replicas"] == "1"


def test_a_broker_logs_as_its_own_settings_of_logging_have_it(tmp_path):
    brokers = brokers_in(tmp_path, 1)
    write_settings(brokers[0], brokers)
    assert "kafka.log" in (brokers[0].folder / "log4j2.properties").read_text()


def test_the_output_is_that_of_java_and_then_the_log(tmp_path):
    (broker,) = brokers_in(tmp_path, 1)
    assert broker.output == ""
    broker.folder.mkdir()
    broker.log.write_text("INFO started\n")
    (broker.folder / "output.log").touch()
    assert broker.logs == [broker.log]
    (broker.folder / "output.log").write_text("Picked up JAVA_TOOL_OPTIONS\n")
    assert broker.output == "Picked up JAVA_TOOL_OPTIONS\nINFO started\n"


def test_the_id_of_a_cluster_is_no_option_of_a_command():
    ids = {new_cluster_id() for _ in range(100)}
    assert len(ids) == 100
    assert all(len(each) == 22 and each[0] != "-" for each in ids)
