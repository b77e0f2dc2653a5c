"""A cluster with TLS and passwords: who may not connect gets the cause, and secrets are kept."""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from confluent_kafka import KafkaException
from pyspark import cloudpickle
from typer.testing import CliRunner

import millstream as ms
from brokers import started
from millstream.cli.main import app
from millstream.kafka.client.connection import Connection
from millstream.kafka.local.broker import HOST, Broker
from millstream.kafka.settings import client_settings
from millstream.model.errors import KafkaError, RunError
from millstream.system.java import java_command
from ports import free_port

cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers cannot import a test

DOCUMENT = Path(__file__).parents[2] / "docs" / "kafka.md"
PASSWORD = "nobody-may-see-this"
SCORES = "team string, points int, at double"
_LOGIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"


@dataclass(frozen=True)
class Secured:
    """A cluster that speaks TLS only: where it asks for a password, and where for a certificate."""

    folder: Path
    port: int
    certificates_port: int

    @property
    def servers(self) -> str:
        return f"{HOST}:{self.port}"

    @property
    def certificate(self) -> Path:
        return self.folder / "ca.pem"

    @property
    def file(self) -> Path:
        """What clients need to know."""
        return self.folder / "client.properties"

    @property
    def options(self) -> dict[str, str]:
        """The same in a program, in Java's names."""
        lines = self.file.read_text(encoding="utf-8").splitlines()
        return dict(line.split("=", 1) for line in lines)

    @property
    def asking_for_certificates(self) -> str:
        """The address where clients need no password."""
        return f"{HOST}:{self.certificates_port}"

    @property
    def certified(self) -> dict[str, str]:
        """What they need there."""
        return {
            "security.protocol": "SSL",
            "ssl.ca.location": str(self.certificate),
            "ssl.keystore.type": "PKCS12",
            "ssl.keystore.location": str(self.folder / "key.p12"),
            "ssl.keystore.password": PASSWORD,
        }

    def run(self, *arguments: str, input: str = "", code: int = 0) -> str:
        """Runs a command, and expects its exit code; what it prints, or its error."""
        command = [*arguments, "--servers", self.servers]
        if "--config" not in arguments:
            command += ["--config", str(self.file)]
        result = CliRunner().invoke(app, command, input=input)
        assert result.exit_code == code, (result.output, result.exception)
        return result.stdout if code == 0 else result.stderr

    def produce(self, topic: str, *rows: dict) -> None:
        self.run("topics", "create", topic, "--if-not-exists")
        self.run("produce", topic, input="".join(json.dumps(row) + "\n" for row in rows))

    def consume(self, topic: str) -> list[dict]:
        options = ["--from", "beginning", "--exit-at-end", "--read-committed"]
        return [json.loads(line) for line in self.run("consume", topic, *options).splitlines()]


def score(team: str, points: int, at: float) -> dict:
    return {"team": team, "points": points, "at": at}


@pytest.fixture(scope="module")
def secured(tmp_path_factory) -> Iterator[Secured]:
    folder = tmp_path_factory.mktemp("secured")
    made = Secured(folder, free_port(), free_port())
    _make_certificate(made)
    _write_settings_of_clients(made)
    with started(folder, made.port, lambda broker: _security(made, broker), lambda: _in(made)):
        yield made


def _make_certificate(made: Secured) -> None:
    """A key of the brokers', with a certificate that it signs itself; clients get the latter."""
    java = shutil.which(java_command(os.environ))
    assert java is not None
    keytool = [str(Path(java).resolve().with_name("keytool")), "-keystore", "key.p12"]
    keytool += ["-storetype", "PKCS12", "-storepass", PASSWORD, "-alias", "broker"]
    name = ["-dname", "CN=broker", "-ext", f"san=ip:{HOST}", "-ext", "bc:critical=ca:true"]
    for command in (
        ["-genkeypair", "-keyalg", "EC", "-groupname", "secp256r1", "-validity", "2", *name],
        ["-exportcert", "-rfc", "-file", made.certificate.name],
    ):
        subprocess.run([*keytool, *command], cwd=made.folder, check=True, capture_output=True)


def _write_settings_of_clients(made: Secured) -> None:
    """Those of the document, with the password and the path of here."""
    text = DOCUMENT.read_text(encoding="utf-8")
    (block,) = re.findall(r"^```properties\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    block = block.replace("secret", PASSWORD).replace("/etc/kafka/ca.pem", str(made.certificate))
    made.file.write_text(block, encoding="utf-8")


def _security(made: Secured, broker: Broker) -> dict[str, object]:
    listeners = f"SASL_SSL://{made.servers},SSL://{made.asking_for_certificates}"
    users = f'user_broker="{PASSWORD}" user_ann="{PASSWORD}"'
    return {
        "listeners": f"{listeners},CONTROLLER://{HOST}:{broker.controller_port}",
        "advertised.listeners": listeners,
        "listener.security.protocol.map": "SASL_SSL:SASL_SSL,SSL:SSL,CONTROLLER:PLAINTEXT",
        "inter.broker.listener.name": "SASL_SSL",
        "sasl.enabled.mechanisms": "PLAIN",
        "sasl.mechanism.inter.broker.protocol": "PLAIN",
        "listener.name.sasl_ssl.plain.sasl.jaas.config": (
            f'{_LOGIN} username="broker" password="{PASSWORD}" {users};'
        ),
        "listener.name.ssl.ssl.client.auth": "required",
        "ssl.keystore.type": "PKCS12",
        "ssl.keystore.location": made.folder / "key.p12",
        "ssl.keystore.password": PASSWORD,
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": made.certificate,
    }


def _in(made: Secured) -> bool:
    with socket.socket() as probe:  # cheaper than a client, most of the time
        if probe.connect_ex((HOST, made.port)):
            return False
    try:
        admin = Connection(made.servers, client_settings(made.file)).admin
        return bool(admin.list_topics(timeout=5).brokers)
    except (KafkaError, KafkaException):
        return False


def test_the_command_line_takes_the_settings_from_a_file(secured):
    secured.run("topics", "create", "lines", "--partitions", "2")
    assert "lines" in secured.run("topics", "list").splitlines()
    secured.run("produce", "lines", input="a\nb\n")
    (described,) = json.loads(secured.run("topics", "describe", "lines", "--size", "--json"))
    assert sum(each["end"] for each in described["partitions"]) == 2
    assert sum(each["size"] for each in described["partitions"]) > 0, "Kafka's own tool got in, too"
    reading = ["--group", "readers", "--from", "beginning", "--exit-at-end"]
    read = secured.run("consume", "lines", *reading)
    assert sorted(read.splitlines()) == ["a", "b"]
    assert "readers" in secured.run("groups", "list")


def test_a_client_may_have_a_certificate_instead_of_a_password(secured):
    secured.run("topics", "create", "certified")
    command = ["topics", "describe", "certified", "--size"]  # with Kafka's own tool
    command += ["--servers", secured.asking_for_certificates]
    for name, value in secured.certified.items():
        command += ["-X", f"{name}={value}"]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0, result.output


def test_a_job_reads_and_writes_exactly_once(secured, spark, tmp_path):
    first = [score("red", 1, 1.0), score("blue", 2, 2.0), score("red", 3, 11.0)]
    secured.produce("scores", *first)
    secured.run("topics", "create", "totals", "--partitions", "2")
    clients = {"servers": secured.servers, "options": secured.options}
    scores = ms.read_kafka("scores", SCORES, event_time="at", watermark=ms.bounded("1s"), **clients)
    totals = scores.key_by("team").window(ms.fixed("10s")).aggregate(total=ms.sum("points"))
    program = totals.write_kafka("totals", **clients)
    job = program.run("secured-totals", spark=spark, checkpoint=tmp_path).process_all()
    secured.produce("scores", score("red", 4, 12.0), score("blue", 5, 31.0))
    job.process_all().stop()
    written = secured.consume("totals")
    assert sorted((r["team"], r["window"]["start"][17:19], r["total"]) for r in written) == [
        ("blue", "00", 2), ("red", "00", 1), ("red", "10", 7),
    ]  # fmt: skip
    group = json.loads(secured.run("groups", "describe", "secured-totals", "--json"))
    assert [(each["topic"], each["lag"]) for each in group["partitions"]] == [("scores", 0)]
    _assert_no_secrets_in(tmp_path)


def _assert_no_secrets_in(folder: Path) -> None:
    files = [file for file in folder.rglob("*") if file.is_file()]
    assert any(file.name == "plan.json" for file in files)
    assert not [file for file in files if PASSWORD.encode() in file.read_bytes()]


@pytest.mark.parametrize("form", ["a file's", "librdkafka's", "texts", "certificates"])
def test_both_clients_of_a_job_get_settings_in_any_form(secured, spark, monkeypatch, form):
    servers = secured.servers
    monkeypatch.setenv("KAFKA_PASSWORD", PASSWORD)
    if form == "a file's":
        options = client_settings(secured.file)
    elif form == "librdkafka's":
        options = {
            "security.protocol": "sasl_ssl",
            "sasl.mechanisms": "PLAIN",
            "sasl.username": "ann",
            "sasl.password": ms.secret(env="KAFKA_PASSWORD"),
            "ssl.ca.location": str(secured.certificate),
            "ssl.endpoint.identification.algorithm": "none",
            "bootstrap.servers": "127.0.0.1:1",  # servers= goes before it
        }
    elif form == "certificates":
        servers, options = secured.asking_for_certificates, secured.certified
    else:
        options = secured.options
        del options["ssl.truststore.location"]
        options["ssl.truststore.certificates"] = secured.certificate.read_text(encoding="ascii")
    secured.produce("words", score("red", 1, 1.0))
    rows = ms.read_kafka(
        "words", SCORES, start={0: 0}, until={0: 1}, servers=servers, options=options
    ).collect()
    assert rows.run("words", spark=spark).rows() == [score("red", 1, 1.0)]


WRONG = {
    "password": (
        {"sasl.jaas.config": f'{_LOGIN} username="ann" password="{PASSWORD}-of-yesterday";'},
        "Authentication failed",
        "check the user name, the password and sasl.mechanism",
    ),
    "authority": (
        {"ssl.truststore.location": None},
        "certificate verify failed",
        "ssl.truststore.type=PEM and ssl.truststore.location=FILE",
    ),
    "protocol": (
        {"security.protocol": "PLAINTEXT"},
        "Disconnected",
        "with TLS or SASL, give security.protocol",
    ),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_client_that_is_rejected_gets_an_error_in_seconds(secured, what):
    changed, reason, fix = WRONG[what]
    options = {n: value for n, value in (secured.options | changed).items() if value is not None}
    begun = time.monotonic()
    source = ms.read_kafka("scores", format="text", servers=secured.servers, options=options)
    with pytest.raises(KafkaError) as caught:
        source.collect().run("kept-out")
    assert time.monotonic() - begun < 10
    error = caught.value
    assert error.code == "MS320"
    assert secured.servers in error.what
    assert reason in error.what
    assert fix in error.fix
    assert PASSWORD not in "".join(traceback.format_exception(error))


def test_the_command_line_shows_the_error_too(secured, tmp_path):
    file = tmp_path / "client.properties"
    text = secured.file.read_text(encoding="utf-8")
    file.write_text(text.replace(PASSWORD, f"{PASSWORD}-of-yesterday"), encoding="utf-8")
    said = secured.run("topics", "list", "--config", str(file), code=1)
    assert "MS320" in said
    assert PASSWORD not in said


def test_a_sink_that_is_rejected_is_an_error_too(secured, spark):
    options = secured.options | WRONG["password"][0]
    rows = ms.from_rows([(1,)], "n int")
    with pytest.raises(KafkaError, match="MS320") as caught:
        rows.write_kafka("totals", servers=secured.servers, options=options).run("x", spark=spark)
    assert PASSWORD not in "".join(traceback.format_exception(caught.value))


def test_settings_of_librdkafka_are_all_that_a_job_needs(secured, spark):
    options = secured.options | {"enable.ssl.certificate.verification": "false"}
    del options["ssl.truststore.location"], options["ssl.truststore.type"]
    secured.produce("one-sided", score("red", 1, 1.0))
    rows = ms.read_kafka("one-sided", SCORES, servers=secured.servers, options=options).collect()
    job = rows.run("one-sided", spark=spark).process_all().stop()
    assert [row["points"] for row in job.rows()] == [1]


@pytest.fixture
def spark_log(spark, tmp_path) -> Iterator[Path]:
    """What Spark and Kafka's client in it log at the level that most people ask for."""
    log4j = spark._jvm.org.apache.logging.log4j
    context = log4j.LogManager.getContext(False)
    root = context.getConfiguration().getRootLogger()
    file, before = tmp_path / "spark.log", root.getLevel()
    layout = log4j.core.layout.PatternLayout.createDefaultLayout()
    builder = log4j.core.appender.FileAppender.newBuilder()
    appender = builder.setName("all").withFileName(str(file)).setLayout(layout).build()
    appender.start()
    root.addAppender(appender, None, None)
    root.setLevel(log4j.Level.INFO)
    context.updateLoggers()
    yield file
    root.removeAppender("all")
    root.setLevel(before)
    context.updateLoggers()
    appender.stop()


def test_no_password_is_in_a_plan_a_log_or_an_error(
    secured, spark, spark_log, tmp_path, caplog, capfd
):
    caplog.set_level("INFO")  # below it, PySpark logs each call to Java
    secured.produce("failing", score("red", 1, 1.0))
    secured.run("topics", "create", "nothing")

    def fail(row):
        raise ValueError("no such team")

    clients = {"servers": secured.servers, "options": secured.options}
    scores = ms.read_kafka("failing", SCORES, **clients)
    program = scores.map(fail, schema="n int").write_kafka("nothing", **clients)
    program.explain()
    program.explain("physical")
    with pytest.raises(RunError, match="no such team") as caught:
        program.run("failing", spark=spark, checkpoint=tmp_path / "checkpoint").process_all()
    said = capfd.readouterr()
    assert "sasl.jaas.config" in said.out, "the plan names the options"
    logged = spark_log.read_text(encoding="utf-8")
    assert "millstream_kafka" in logged or "PythonMicroBatchStream" in logged, "it logs the source"
    for text in (
        said.out,
        said.err,
        caplog.text,
        logged,
        "".join(traceback.format_exception(caught.value)),
        repr([scores, program, *program.sinks]),
    ):
        assert PASSWORD not in text
        assert not [each for each in in_base64(PASSWORD) if each in text]
    _assert_no_secrets_in(tmp_path / "checkpoint")


def in_base64(secret: str) -> list[str]:
    """How a secret looks among other bytes that are written in Base64, wherever it begins there."""
    whole = (base64.b64encode(b" " * at + secret.encode()).decode() for at in range(3))
    return [text[4 if at else 0 : -4] for at, text in enumerate(whole)]
