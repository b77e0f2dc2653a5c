"""Inputs, outputs and listeners do the same on ``millstream.dstream`` and ``pyspark.streaming``."""

from __future__ import annotations

import os
import re
import socket
import threading
import time
import warnings
from pathlib import Path
from types import ModuleType
from typing import Any

import pyspark.streaming
import pytest

import millstream.dstream
from waiting import until

INTERVAL = 0.5
NUMBERS = [[1, 2, 3], [4]]
TEXTS = {"first": "a\nb\n", "second": "c\n"}
SENT = b"to be\nor not\n"
LINE = "-" * 43
EXPECTED = {
    "text": [["a", "b"], ["c"]],
    "records": [[b"a\n", b"b\n"], [b"c\n"]],
    "received": ["to be", "or not"],
    "sliced": NUMBERS,
    "saved": ["1\n2\n3\n", "4\n"],
    "printed": [LINE, "Time: …", LINE, "1", "2", "...", "", LINE, "Time: …", LINE, "4", ""],
    "files": ["first", "first", "second", "second"],
    "records counted": 2,
    "receivers": [True],
}


def recorder_of(module: ModuleType) -> Any:
    """A listener that records what inputs took, and receivers."""

    class Recorder(module.StreamingListener):  # type: ignore[name-defined, misc]
        def __init__(self):
            super().__init__()
            self.files, self.records, self.receivers = [], 0, []

        def onReceiverStarted(self, receiverStarted):
            self.receivers.append(receiverStarted.receiverInfo().active())

        def onBatchCompleted(self, batchCompleted):
            info = batchCompleted.batchInfo()
            self.records += info.numRecords()
            inputs = info.streamIdToInputInfo()
            described = [inputs[each].metadataDescription() or "" for each in inputs]
            self.files += [Path(file).name for text in described for file in text.split()]

    return Recorder()


def served() -> int:
    """The port of a server that sends some lines to one client, and waits."""
    server = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        with server, server.accept()[0] as connection:
            connection.sendall(SENT)
            connection.recv(1)

    threading.Thread(target=serve, daemon=True).start()
    return int(server.getsockname()[1])


def arrive(folder: Path) -> None:
    """Moves the files in, to be new in a second and in two."""
    began = time.time()
    for number, (name, text) in enumerate(TEXTS.items(), start=1):
        hidden = folder / f".{name}"
        hidden.write_text(text)
        os.utime(hidden, (began + number, began + number))
        hidden.rename(folder / name)


def ran(module: ModuleType, context: Any, folder: Path, capsys: Any) -> dict[str, Any]:
    """What a program with all inputs and outputs did."""
    files = folder / "files"
    files.mkdir(parents=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # PySpark's own is deprecated
        ssc = module.StreamingContext(context, INTERVAL)
    ssc.remember(60)
    listener = recorder_of(module)
    ssc.addStreamingListener(listener)
    found: dict[str, list] = {"text": [], "records": [], "received": [], "times": []}
    numbers = ssc.queueStream([context.parallelize(each, 1) for each in NUMBERS])
    assert numbers.context() is ssc
    assert ssc.sparkContext is context
    numbers.pprint(2)
    numbers.saveAsTextFiles(f"{folder}/saved", "txt")
    numbers.foreachRDD(lambda at, rdd: found["times"].append(at.timestamp()))
    ssc.textFileStream(str(files)).foreachRDD(lambda rdd: found["text"].append(rdd.collect()))
    records = ssc.binaryRecordsStream(str(files), 2)
    records.foreachRDD(lambda rdd: found["records"].append([*map(bytes, rdd.collect())]))
    lines = ssc.socketTextStream("127.0.0.1", served())
    lines.foreachRDD(lambda rdd: found["received"].extend(rdd.collect()))
    ssc.start()
    arrive(files)
    until(
        lambda: (
            ssc.awaitTerminationOrTimeout(0) or (len(listener.files), listener.records) == (4, 2)
        )
    )
    sliced = [rdd.collect() for rdd in numbers.slice(found["times"][0], found["times"][1])]
    ssc.stop(False)
    saved = [
        each for each in sorted(folder.glob("saved-*")) if re.search(r"-\d{13}\.txt$", str(each))
    ]
    printed = re.sub(r"Time: 20\d\d-[-0-9 :.]+", "Time: …", capsys.readouterr().out).split("\n")
    return {
        "text": [each for each in found["text"] if each],
        "records": [each for each in found["records"] if each],
        "received": found["received"],
        "sliced": sliced,
        "saved": [(each / "part-00000").read_text() for each in saved[:2]],
        "printed": printed[: len(EXPECTED["printed"])],
        "files": sorted(listener.files),
        "records counted": listener.records,
        "receivers": listener.receivers,
    }


@pytest.mark.parametrize("module", [millstream.dstream, pyspark.streaming])
def test_inputs_outputs_and_listeners_do_what_they_do_in_pyspark(module, context, tmp_path, capsys):
    assert ran(module, context, tmp_path, capsys) == EXPECTED
