"""Files of properties are read and written as Java does it."""

from __future__ import annotations

import pytest

from millstream.kafka.properties import escaped, read_properties
from millstream.model.errors import KafkaError


def test_a_file_is_read_as_java_reads_it(tmp_path):
    file = tmp_path / "client.properties"
    file.write_text(
        "# a comment\n"
        "! another\n"
        "\n"
        "security.protocol = SASL_SSL\n"
        "  sasl.mechanism: SCRAM-SHA-512\n"
        "client.id na\\u00efve\\tname\n"
        "sasl.username=a\\=b\\:c\\\\d\n"
        "sasl.password=first,\\\n"
        "    second # no comment\n"
        "ssl.endpoint.identification.algorithm=\n",
        encoding="utf-8",
    )
    assert read_properties(file) == {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "SCRAM-SHA-512",
        "client.id": "naïve\tname",
        "sasl.username": "a=b:c\\d",
        "sasl.password": "first,second # no comment",
        "ssl.endpoint.identification.algorithm": "",
    }


@pytest.mark.parametrize("value", ["C:\\new", "two\nlines\r", "naïve", "数据 \U0001f600", "a=b:c"])
def test_a_value_that_is_escaped_is_read_back(tmp_path, value):
    file = tmp_path / "client.properties"
    file.write_text(f"client.id={escaped(value)}\n", encoding="ascii")
    assert read_properties(file) == {"client.id": value.rstrip()}


def test_a_file_that_is_not_text_is_an_error_that_names_it(tmp_path):
    file = tmp_path / "client.properties"
    file.write_bytes(b"client.id=\xff")
    with pytest.raises(KafkaError, match=f"MS322: the file of client settings {file} cannot"):
        read_properties(file)
