"""Programs continue from their checkpoints: each batch is there once, and counts once."""

from __future__ import annotations

import ast
import json
import signal
import socket
import struct
import threading
from collections import Counter
from pathlib import Path

import pytest

import dstream_counts
import mortal_dstream
from families import Family
from millstream.dstream import StreamingContext, StreamingListener
from millstream.model.errors import PlanError
from mortal_dstream import POINTS
from waiting import until


def batches(output: Path, name: str, ending: str = "") -> dict[int, dict]:
    """What ``saveAsTextFiles`` wrote: pairs, by the time of the batch."""
    found = {}
    for folder in output.glob(f"{name}-*{ending}"):
        if (folder / "_SUCCESS").exists():
            lines = [
                line for part in folder.glob("part-*") for line in part.read_text().split("\n")
            ]
            pairs = [ast.literal_eval(line) for line in lines if line]
            assert len(pairs) == len(dict(pairs))
            found[int(folder.name.removesuffix(ending).rpartition("-")[2])] = dict(pairs)
    return found


class Recorder(StreamingListener):
    """Records what listeners get to know of batches and receivers."""

    def __init__(self) -> None:
        self.batches: list = []
        self.receivers: list = []

    def onBatchCompleted(self, batchCompleted):
        self.batches.append(batchCompleted.batchInfo())

    def onReceiverStarted(self, receiverStarted):
        self.receivers.append(receiverStarted.receiverInfo())

    def onReceiverStopped(self, receiverStopped):
        self.receivers.append(receiverStopped.receiverInfo())


def put(folder: Path, name: str, *lines: str) -> None:
    """Moves a file into the folder, as users have to."""
    hidden = folder / f".{name}"
    hidden.write_text("".join(f"{line}\n" for line in lines))
    hidden.rename(folder / name)


def check(output: Path, interval: int) -> Counter:
    """Every batch is there; state and windows are the sums of batches. The sum of all."""
    each, totals, window = (
        batches(output, "batch", ".txt"), batches(output, "totals"), batches(output, "window"),
    )  # fmt: skip
    complete = each.keys() & totals.keys() & window.keys()
    first, last = min(complete), max(complete)
    assert sorted(complete) == [*range(first, last + 1, interval)]
    so_far: Counter = Counter()
    for time in range(first, last + 1, interval):
        so_far.update(each[time])
        assert totals[time] == so_far
        in_window: Counter = Counter()
        for other in range(time - 4 * interval, time + 1, interval):
            in_window.update(each.get(other, {}))
        assert {key: n for key, n in window[time].items() if n} == in_window
    return so_far


def shown(output: Path, sent: Counter) -> bool:
    """Whether the state has all that was sent."""
    totals, last = batches(output, "totals"), batches(output, "batch", ".txt")
    return any(totals[time] == sent for time in totals.keys() & last.keys())


def test_a_program_continues_after_a_stop_with_state_windows_and_missed_batches(context, tmp_path):
    files, output, checkpoint = (tmp_path / name for name in ("files", "output", "checkpoint"))
    files.mkdir()

    def start() -> StreamingContext:
        ssc = StreamingContext.getOrCreate(
            str(checkpoint), lambda: dstream_counts.program(context, str(files), str(output))
        )
        ssc.start()
        return ssc

    ssc = start()
    until(lambda: batches(output, "totals"))
    put(files, "1", "a", "b", "a")
    until(lambda: shown(output, Counter("aba")))
    ssc.stop(False)
    put(files, "2", "b", "c")  # while it does not run
    ssc = start()
    assert ssc.sparkContext is context
    until(lambda: shown(output, Counter("ababc")))
    ssc.stop(False, True)
    assert check(output, 1000 * dstream_counts.INTERVAL) == Counter("ababc")


@pytest.fixture(scope="module")
def killed(tmp_path_factory) -> Path:
    """The folder of a program that has died at each point, and has come to its end."""
    folder = tmp_path_factory.mktemp("killed")
    (folder / "deaths").mkdir()
    exits: list[int] = []
    while 0 not in exits and len(exits) <= len(POINTS):
        log = folder / f"life-{len(exits)}.log"
        script = Path(mortal_dstream.__file__)
        with Family(script, folder, log=log, scratch=folder / "scratch") as family:
            exits.append(family.ended(within=300))
        assert exits[-1] in (0, -signal.SIGKILL), family.printed()
    assert exits == [-signal.SIGKILL] * len(POINTS) + [0]
    return folder


def test_a_program_that_is_killed_five_times_counts_everything_once(killed):
    counted = check(killed / "output", 1000 * mortal_dstream.INTERVAL)
    each = batches(killed / "output", "batch", ".txt")
    first = min(each)
    for number in range(1, len(each) + 1):  # each batch has what the queue had for it
        assert each[first + (number - 1) * 1000 * mortal_dstream.INTERVAL]["queue"] == number
    lines = Counter(f"file {number}" for number in range(mortal_dstream.FILES))
    lines["files"] = mortal_dstream.FILES
    del counted["queue"]
    assert counted == lines


@pytest.mark.parametrize(
    ("point", "complete"),
    [
        ("in the state", set()),
        ("between two outputs", {"totals"}),
        ("in the inverse", {"totals"}),
        ("in a file", {"totals", "window"}),
        ("before the commit", {"totals", "window", "batch"}),
    ],
)
def test_it_died_in_the_middle_of_a_batch(killed, point, complete):
    first = min(batches(killed / "output", "totals"))
    time = first + (POINTS[point] - 1) * 1000 * mortal_dstream.INTERVAL
    seen = json.loads((killed / "deaths" / point).read_text())
    folders = {Path(file).parent.name for file in seen if file.endswith("/_SUCCESS")}
    endings = {"totals": "", "window": "", "batch": ".txt"}
    assert {name for name in endings if f"{name}-{time}{endings[name]}" in folders} == complete


def test_lines_of_a_socket_are_received_once_and_not_lost_by_a_restart(context, tmp_path):
    seen: dict = {}
    server = socket.create_server(("127.0.0.1", 0))
    connections: list[socket.socket] = []

    def accept() -> None:
        while True:
            connections.append(server.accept()[0])

    threading.Thread(target=accept, daemon=True).start()

    def setup() -> StreamingContext:
        ssc = StreamingContext(context, 0.5)
        words = ssc.socketTextStream("127.0.0.1", server.getsockname()[1]).flatMap(str.split)
        totals = words.map(lambda word: (word, 1)).updateStateByKey(
            lambda new, total: sum(new) + (total or 0)
        )
        totals.saveAsTextFiles(f"{tmp_path}/totals")
        return ssc

    def totals() -> dict[int, dict]:
        return batches(tmp_path, "totals")

    listener = Recorder()

    for text, expected in (("a b a\nc\nd", {"a": 2, "b": 1, "c": 1}), ("e\n", {"d": 1, "e": 1})):
        ssc = StreamingContext.getOrCreate(str(tmp_path / "checkpoint"), setup)
        count = len(connections)
        ssc.addStreamingListener(listener)
        ssc.start()
        until(lambda: len(connections) > count)  # noqa: B023
        connections[-1].sendall(text.encode())
        seen |= expected
        until(lambda: any(seen.items() <= each.items() for each in totals().values()))  # noqa: B023
        connections[-1].setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connections[-1].close()  # as a server that dies: the client is told of a reset
        until(lambda: not listener.receivers[-1].active())
        ssc.stop(False, True)
    assert totals()[max(totals())] == {"a": 2, "b": 1, "c": 1, "d": 1, "e": 1}
    server.close()
    assert sum(info.numRecords() for info in listener.batches) == 4  # a b a, c, d and e
    began, ended, *_ = listener.receivers
    assert (began.active(), ended.active()) == (True, False)
    assert began.streamId() == ended.streamId()
    assert "closed the connection" in ended.lastErrorMessage()
    assert ended.lastErrorTime() > 0


@pytest.mark.parametrize("as_rdds", [False, True])
def test_a_queue_of_lists_can_be_resumed_and_one_of_rdds_cannot(context, tmp_path, as_rdds):
    queue = [[n] for n in range(100)]
    given = [context.parallelize(each) for each in queue] if as_rdds else queue

    def setup() -> StreamingContext:
        ssc = StreamingContext(context, 0.2)
        ssc.queueStream(given).map(str).saveAsTextFiles(f"{tmp_path}/batch")
        return ssc

    for _ in range(2):
        written = len([*tmp_path.glob("batch-*")])
        ssc = StreamingContext.getOrCreate(str(tmp_path / "checkpoint"), setup)
        if as_rdds and written:
            with pytest.raises(PlanError, match="the RDDs of a queueStream"):
                ssc.start()
            return
        ssc.start()
        until(lambda: len([*tmp_path.glob("batch-*")]) > written + 2)  # noqa: B023
        ssc.stop(False)
    folders = [each for each in sorted(tmp_path.glob("batch-*")) if (each / "_SUCCESS").exists()]
    texts = ["".join(part.read_text() for part in each.glob("part-*")) for each in folders]
    assert [int(text) for text in texts] == [*range(len(folders))]


def test_a_batch_that_failed_is_retried_by_the_next_run(context, tmp_path):
    broken = tmp_path / "broken"
    broken.touch()

    def checked(number: int) -> int:
        if number == 1 and broken.exists():
            raise ValueError("broken")
        return number

    def setup() -> StreamingContext:
        ssc = StreamingContext(context, 0.5)
        numbers = ssc.queueStream([[n] for n in range(100)]).map(checked)
        numbers.window(1).saveAsTextFiles(f"{tmp_path}/window")
        return ssc

    def written() -> list[list[int]]:
        folders = [each for each in tmp_path.glob("window-*") if (each / "_SUCCESS").exists()]
        texts = ["".join(p.read_text() for p in each.glob("part-*")) for each in sorted(folders)]
        return [sorted(map(int, text.split())) for text in texts]

    ssc = StreamingContext.getOrCreate(str(tmp_path / "checkpoint"), setup)
    ssc.start()
    until(lambda: len(written()) >= 3)
    ssc.stop(False)
    assert written()[:3] == [[0], [2, 3], [3, 4]]
    broken.unlink()
    ssc = StreamingContext.getOrCreate(str(tmp_path / "checkpoint"), setup)
    ssc.start()
    until(lambda: written()[1:3] == [[0, 1], [1, 2]])
    ssc.stop(False)


def test_a_function_that_needs_the_spark_context_cannot_be_checkpointed(context, tmp_path):
    ssc = StreamingContext(context, 1)
    ssc.queueStream([[1]]).foreachRDD(lambda rdd: context.parallelize([1]))
    ssc.checkpoint(str(tmp_path))
    with pytest.raises(Exception, match="attempting to reference SparkContext"):
        ssc.start()
    ssc.stop(False)
