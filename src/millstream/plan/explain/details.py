"""What a step does, in labelled lines: for the plan's text and its drawing."""

from __future__ import annotations

from millstream.model.amounts import counted
from millstream.model.time_units import UNITS
from millstream.model.windowing import Windowing
from millstream.plan.branch import Branch
from millstream.plan.build.functions import function_name
from millstream.plan.explain.words import keys_text, named_text, when_text, where_text
from millstream.plan.lookup import Lookup
from millstream.plan.nodes import (
    EventTime,
    FilesSource,
    Filter,
    FrameSource,
    Function,
    KafkaSource,
    Line,
    Node,
    OnError,
    RateSource,
    Rejected,
    RowsSource,
    Select,
    SideOutput,
    Sink,
    SocketSource,
    Source,
    SplitSource,
    SqlStep,
    Stateful,
    Union,
    WithColumns,
    unknown_kind,
)
from millstream.plan.settings import Settings
from millstream.plan.targets import Columns, Console, Each, Files, Kafka, Memory, Table, Target
from millstream.plan.types.schema import quoted

_DEFAULTS = Windowing()


def details(node: Node) -> list[Line]:
    """What the step does; a grouping answers the four questions."""
    match node:
        case RowsSource():
            return [("rows", f"{len(node.rows)} in the program")]
        case SplitSource():
            return _reading(node)
        case Source():
            return [("rows", "until they end" if node.bounded else "without end")]
        case EventTime():
            watermark = "" if node.watermark is None else f", watermark {node.watermark!r}"
            unit = "" if node.unit == "s" else f" in {UNITS[node.unit].name}"
            return [("from", f"{quoted(node.column)}{unit}{watermark}")]
        case Filter():
            return [("keeps", f"{node.condition.text}{_failing(node)}")]
        case Branch():
            failing = f"a row of which a condition cannot be computed {_FATES[node.on_error]}"
            return [*node.details, *([("failing", failing)] if node.on_error != "fail" else [])]
        case Select() | WithColumns():
            label = "gives" if isinstance(node, Select) else "adds"
            columns = ", ".join(named_text(n, e) for n, e in node.columns)
            return [(label, f"{columns}{_failing(node)}")]
        case Lookup():
            return node.details
        case Function():
            name = function_name(node.function)
            return [("runs", f"{name}, a row that raises {fate_text(node.on_error)}")]
        case SideOutput(tag="late"):
            return [("takes", f"what came too late for {node.input.name!r}")]
        case SideOutput():
            return [("takes", f"what {node.input.name!r} emits as {node.tag}")]
        case Rejected():
            return [("takes", f"what {node.input.name!r} and the steps behind it rejected")]
        case Stateful():
            return node.details
        case Sink():
            return _writing(node.target)
        case Union():
            return []
    raise unknown_kind(node)


def aligned(lines: list[Line]) -> list[str]:
    """The lines as text, with what follows the labels in one column.

    >>> aligned([("key", "team"), ("where", "fixed('2m')")])
    ['key    team', "where  fixed('2m')"]
    """
    width = max((len(label) for label, _ in lines), default=0)
    return [f"{label:{width}}  {text}" for label, text in lines]


def columns(node: Node) -> str:
    """The columns that the step emits; those that every operator of its kind adds need no types."""
    own = node.own_columns if isinstance(node, Stateful) else ()
    return ", ".join(f.name if f in own else str(f) for f in node.schema)


def setting_lines(settings: Settings) -> list[Line]:
    """What is set for the next operator."""
    keys, windowing = settings.keys, settings.windowing
    lines = [("key", keys_text(keys))] if keys else []
    if windowing.window is not None:
        lines.append(("window", where_text(windowing)))
    if windowing.trigger is not None:
        lines.append(("trigger", when_text(windowing)))
    if windowing.refine is not _DEFAULTS.refine:
        lines.append(("refine", repr(windowing.refine)))
    return lines


def _reading(node: SplitSource) -> list[Line]:
    split = [] if node.split is None else [("split", f"by {quoted(node.split)}")]
    match node:
        case FilesSource():
            return [*_files_read(node), *_options(node.options), *split]
        case KafkaSource():
            return _records_read(node)
        case SocketSource():
            return [("reads", f"lines of text from {node.host}:{node.port}"), *split]
        case RateSource():
            return [("makes", f"{counted(node.rows_per_second, 'row')} a second"), *split]
        case FrameSource():
            kind = "a DataFrame" if node.bounded else "a streaming DataFrame"
            return [("reads", f"{kind} of Spark"), *split]
    raise unknown_kind(node)


def _files_read(node: FilesSource) -> list[Line]:
    when = "those there at the start" if node.bounded else "as they are added"
    lines = [("reads", f"{node.format} files in {node.path}, {when}")]
    if node.on_malformed == "null":
        lines.append(("malformed", "what Spark cannot read is null"))
    if node.optional:
        lines.append(("optional", ", ".join(map(quoted, node.optional))))
    if node.max_files_per_batch is not None:
        lines.append(("batch", f"at most {counted(node.max_files_per_batch, 'file')}"))
    return lines


def _records_read(node: KafkaSource) -> list[Line]:
    topics = f"topics like {node.pattern}" if node.pattern else ", ".join(node.topics)
    until = "" if node.until is None else f" until {node.until}"
    lines = [
        ("reads", f"{node.format} records of {topics} from {node.start}{until}"),
        ("split", "by partition"),
    ]
    if node.max_per_batch is not None:
        lines.append(("batch", f"at most {counted(node.max_per_batch, 'record')}"))
    if node.on_data_loss == "continue":
        lines.append(("loss", "records that are gone are counted, and left out"))
    return [*lines, *_options(node.options)]


def _records_written(target: Kafka) -> list[Line]:
    once = "exactly once" if target.delivery == "exactly_once" else "at least once"
    changes = "upserts" if target.changes == "upsert" else "a changelog"
    lines = [
        ("writes", f"records to {target.topic}, {once}, as {changes}"),
        ("key", "none" if target.key is None else _made_of(target.key)),
        ("value", _made_of(target.value)),
    ]
    if target.headers:
        lines.append(("headers", ", ".join(_headed(*header) for header in target.headers)))
    if target.partition_by is not None:
        lines.append(("split", f"by {_made_of(target.partition_by)}"))
    return [*lines, *_options(target.options)]


def _made_of(columns: Columns) -> str:
    return quoted(columns) if isinstance(columns, str) else ", ".join(map(quoted, columns))


def _headed(name: str, column: str) -> str:
    return name if name == column else f"{name} = {quoted(column)}"


def _folders(target: Files) -> str:
    return "/".join(f"{name}=…" for name in target.partition_by)


def _writing(target: Target) -> list[Line]:
    match target:
        case Files():
            return [
                ("writes", f"{target.format} files to {target.path}"),
                *([("in", _folders(target))] if target.partition_by else []),
                *([("mode", target.mode)] if target.mode is not None else []),
                *_options(target.options),
            ]
        case Kafka():
            return _records_written(target)
        case Console():
            rows = counted(target.limit, "row")
            of = "a batch" if target.table is None else "the table"
            return [
                ("writes", f"at most {rows} of {of} to standard output"),
                *_table(target.table),
            ]
        case Each():
            call = f"{function_name(target.function)}(rows, batch, slice)"
            return [("calls", call), *_table(target.table)]
        case Memory():
            return _table(target.table)
    raise TypeError(f"an unknown target: {target!r}")


def _table(table: Table | None) -> list[Line]:
    if table is None:
        return []
    by = f", a row for each {', '.join(map(quoted, table.by))}" if table.by else ", one row"
    return [("table", f"the whole result{by}")]


def _options(options: tuple[tuple[str, str], ...]) -> list[Line]:
    """Only their names: a value may be a secret, and plans are printed and logged."""
    return [("options", ", ".join(name for name, _ in options))] if options else []


_FATES: dict[OnError, str] = {"fail": "fails", "reject": "is rejected", "drop": "is dropped"}


def fate_text(on_error: OnError) -> str:
    """What becomes of a row that fails."""
    return _FATES[on_error]


def _failing(node: SqlStep) -> str:
    """What becomes of rows of which something cannot be computed, if that is not the usual."""
    if node.on_error == "fail":
        return ""
    return f"; a row of which that cannot be computed {fate_text(node.on_error)}"
