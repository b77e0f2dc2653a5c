"""An archive has what executors import, and nothing that Spark brings along."""

from __future__ import annotations

import tarfile
from unittest.mock import patch

from millstream.jobs import packing
from millstream.jobs.packing import pack, settings_of


def test_all_that_is_needed_is_packed_but_what_spark_brings_along():
    names = {each.metadata["Name"].lower() for each in packing._needed("millstream")}
    assert {"millstream", "polars", "pyarrow", "confluent-kafka", "msgspec"} <= names
    assert not names & {"pyspark", "py4j", "pytest"}


def test_an_archive_has_millstream_and_the_modules_of_the_program(tmp_path):
    (tmp_path / "lib" / "__pycache__").mkdir(parents=True)
    (tmp_path / "lib" / "__init__.py").write_text("")
    (tmp_path / "lib" / "__pycache__" / "old.pyc").write_text("")
    (tmp_path / "rates.py").write_text("EURO = 1\n")
    target = tmp_path / "made" / "packed.tar.gz"
    with patch.object(packing, "_needed", lambda name: iter(())):  # hundreds of megabytes
        pack(target, [tmp_path / "lib", tmp_path / "rates.py"])
    with tarfile.open(target) as archive:
        names = archive.getnames()
    assert {"lib/__init__.py", "rates.py", "millstream/engine/operator.py"} <= set(names)
    assert not [name for name in names if "__pycache__" in name]
    assert len(names) == len(set(names))
    assert settings_of(str(target)) == {
        "spark.archives": f"{target}#packed",
        "spark.executorEnv.PYTHONPATH": "packed",
    }
