"""The program as Spark's own aggregation runs it."""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everyone calls them

from benchmarks.spec import DELAY_SECONDS, FILES, SCHEMA, Spec

_STORES = "org.apache.spark.sql.execution.streaming.state"


class NativeProgram:
    """Count and sum for each key and window, written to parquet files."""

    def __init__(self, spec: Spec, spark: SparkSession) -> None:
        store = "HDFSBacked" if spec.engine == "hdfs" else "RocksDB"
        provider = f"{_STORES}.{store}StateStoreProvider"
        spark.conf.set("spark.sql.streaming.stateStore.providerClass", provider)
        results = (
            _read(spec, spark)
            .withWatermark("ts", f"{DELAY_SECONDS} seconds")
            .groupBy("key", F.window("ts", f"{spec.window_seconds} seconds"))
            .agg(F.count("*").alias("n"), F.sum("price").alias("s"))
            .select("key", "n", "s", "window")
        )
        writer = results.writeStream.option("checkpointLocation", spec.checkpoint)
        if spec.servers:
            _, topic = spec.topics
            value = F.to_json(F.struct("key", "n", "s", "window"))
            records = results.select(F.col("key").cast("string").alias("key"), value.alias("value"))
            writer = records.writeStream.option("checkpointLocation", spec.checkpoint)
            writer = writer.outputMode("update" if spec.updates else "append").format("kafka")
            options = {"kafka.bootstrap.servers": spec.servers, "topic": topic}
            self.query = writer.options(**options).start()
        elif spec.updates:

            def write(frame: DataFrame, batch: int) -> None:
                frame.write.mode("append").parquet(spec.output)

            # Spark's file sink does not support updates.
            self.query = writer.outputMode("update").foreachBatch(write).start()
        else:
            self.query = writer.outputMode("append").format("parquet").start(spec.output)

    def stop(self) -> dict[str, Any]:
        """Ends the query."""
        self.query.stop()
        return {"late": 0, "rejected": 0}


def _read(spec: Spec, spark: SparkSession) -> DataFrame:
    if not spec.servers:
        files = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", FILES)
        return files.parquet(f"{spec.input}/*")
    topic, _ = spec.topics
    options = {
        "kafka.bootstrap.servers": spec.servers,
        "subscribe": topic,
        "startingOffsets": "earliest",
        "kafka.isolation.level": "read_committed",
    }
    records = spark.readStream.format("kafka").options(**options).load()
    value = F.from_json(F.col("value").cast("string"), SCHEMA)
    return records.select(value.alias("value")).select("value.*")
