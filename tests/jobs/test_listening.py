"""The function that a program gives to ``run`` may fail; the job does not."""

from __future__ import annotations

from millstream.jobs.listening import BatchListener
from millstream.reports.progress import BatchReport
from millstream.reports.tracker import Tracker


def test_it_is_called_after_each_batch_and_its_first_error_is_logged(caplog):
    batches = []

    def fail(progress):
        batches.append(progress.batches)
        raise ValueError("no such counter")

    tracker = Tracker()
    tracker.subscribe(BatchListener("totals", fail, tracker))
    tracker.state("running")
    for number in range(3):
        tracker.report(BatchReport(number, started=0, seconds=1, rows=1))
    assert batches == [1, 2, 3]
    (record,) = caplog.records
    assert "job 'totals' continues" in record.getMessage()
    assert "no such counter" in caplog.text
