"""DStream programs on Structured Streaming, after one change of an import.

    from millstream.dstream import StreamingContext

in place of ``from pyspark.streaming import StreamingContext``. See ``docs/dstreams.md``.

How a batch is evaluated. One Structured Streaming query (``query.py``) runs a micro-batch for each
interval. Within it, on the driver, the graph of the DStreams (``graph/``) is evaluated for the time
of the batch: each output asks its DStream for the RDD of that time, which asks its parents. What
comes out are plain RDDs of the user's SparkContext. Then the outputs run on them, one after the
other (``batch.py``).

What is kept, and when (``checkpoint.py``). The program, with its functions, when it starts. Before
the outputs of a batch run, what each input took for each batch that is still remembered, where it
continues, and which RDDs have been checkpointed. RDDs of state, every ten seconds or as
``checkpoint`` of the DStream says. What a socket sent, before a batch may use it.

How a program recovers. ``getOrCreate`` loads the program. The query runs the batch again that it
had not committed, and all batches that were missed since. A batch that is run again takes what it
took before. State that is not in a checkpointed RDD is computed again, from the last RDD that is
and from what the batches since then took: it counts each element once.
"""

from millstream.dstream.by_value import sent_by_value
from millstream.dstream.context import StreamingContext
from millstream.dstream.dstream import DStream
from millstream.dstream.listener import StreamingListener
from millstream.dstream.state_spec import State, StateSpec

sent_by_value()

__all__ = ["DStream", "State", "StateSpec", "StreamingContext", "StreamingListener"]
