"""Writes docs/api.md: every public name with its signature and docstring, read by Griffe.

Griffe reads the source without running it, so it also sees the docstrings of constants and the
annotations as they are written. What is left to do here is the order of the page, and Markdown.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import griffe
from griffe import Attribute, Class, Expr, ExprName, Function, Module, ParameterKind

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "api.md"

SECTIONS = {
    "millstream.sources": "Sources",
    "millstream.stream": "Streams",
    "millstream.branches": "Streams",
    "millstream.joins": "Streams",
    "millstream.pipeline": "Programs",
    "millstream.jobs.job": "Jobs",
    "millstream.reports.progress": "Jobs",
    "millstream.reports.steps": "Jobs",
    "millstream.model.aggregates": "What: aggregates",
    "millstream.model.windows": "Where: windows",
    "millstream.model.ordered_windows": "Where: windows",
    "millstream.model.clock_windows": "Where: windows",
    "millstream.model.triggers": "When: triggers",
    "millstream.model.processors": "State and timers",
    "millstream.model.refinements": "How: refinements",
    "millstream.model.watermarks": "Watermarks",
    "millstream.model.secrets": "Secrets",
    "millstream.model.errors": "Errors",
    "millstream.testing": "Testing",
    "millstream.kafka.local.data_directory": "Local brokers",
    "millstream.kafka.local.lifecycle": "Local brokers",
    "millstream.kafka.settings": "Settings of Kafka's clients",
}
"""The sections of the page, by the module in which a name is defined."""

RETURNED = (
    "millstream.branches.Branches",
    "millstream.jobs.job.Job",
    "millstream.reports.progress.Progress",
    "millstream.reports.progress.Split",
    "millstream.reports.steps.StepProgress",
    "millstream.model.triggers.Trigger",
    "millstream.model.processors.Row",
    "millstream.model.processors.Timer",
    "millstream.model.processors.Expiry",
    "millstream.model.processors.End",
    "millstream.model.processors.Timers",
    "millstream.model.processors.TimerSetting",
    "millstream.model.processors.Output",
    "millstream.kafka.local.up",
    "millstream.kafka.local.down",
    "millstream.kafka.local.running",
    "millstream.kafka.local.start_broker",
    "millstream.kafka.settings.client_settings",
)
"""Names that users do not import from ``millstream``: results, and names in the guides."""

INTRODUCTION = """\
# API reference

Every public name, with its signature and its docstring. `make docs` writes this page from the
source; do not edit it. [The guide](guide.md) introduces these names one after the other, and
[the semantics](semantics.md) has the exact rules.

In headings, `testing` is `millstream.testing`, `local` is `millstream.kafka.local` and `settings`
is `millstream.kafka.settings`. Classes such as `Job` are returned by methods, and need no import.

```python
>>> import millstream as ms
>>> from millstream.kafka.local import down, running, start_broker, up
>>> from millstream.kafka.settings import client_settings
>>> from millstream.testing import *

```
"""

Documented = Attribute | Class | Function


def page() -> str:
    """The whole page as Markdown."""
    package = griffe.load("millstream", search_paths=[ROOT / "src"], resolve_aliases=True)
    assert isinstance(package, Module)
    names = exported(package)
    sections: dict[str, list[Documented]] = {title: [] for title in SECTIONS.values()}
    for module, entry in [*entries(package), *testing(package)]:
        if module not in SECTIONS:
            raise SystemExit(f"{module} needs a title in SECTIONS of {Path(__file__).name}")
        sections[SECTIONS[module]].append(entry)
    parts = [INTRODUCTION]
    parts += [contents(title, found) for title, found in sections.items()]
    for title, found in sections.items():
        parts.append(f"\n## {title}\n")
        parts += [markdown(entry, names) for entry in found]
    parts += ["\n## Types in signatures\n", *types(package, sections.values())]
    return "\n".join(parts) + "\n"


def exported(module: Module) -> list[str]:
    """The names in ``__all__`` of a module."""
    return [str(name) for name in module.exports or () if str(name) != "__version__"]


def entries(package: Module) -> list[tuple[str, Documented]]:
    """The public names outside ``testing``, each with its module, in the order of the source."""
    found = [target(package[name]) for name in exported(package)]
    found += [target(package[path.removeprefix("millstream.")]) for path in RETURNED]
    return [(entry.module.path, entry) for entry in sorted(found, key=in_module)]


def in_module(entry: Documented) -> tuple[str, int]:
    """An entry's module, and where it is there."""
    return entry.module.path, line(entry)


def line(entry: Documented) -> int:
    """Where an entry is in its file."""
    return entry.lineno or 0


def testing(package: Module) -> list[tuple[str, Documented]]:
    """The names of ``millstream.testing``."""
    room = package["testing"]
    return [("millstream.testing", target(room[name])) for name in exported(room)]


def target(found: griffe.Object | griffe.Alias) -> Documented:
    """The definition of a name."""
    if isinstance(found, Module):  # which hides the function of its name: ms.pipeline
        found = found[found.name]
    entry = found.final_target if isinstance(found, griffe.Alias) else found
    assert isinstance(entry, Documented), found.path
    return entry


def contents(title: str, found: list[Documented]) -> str:
    """A line of the table of contents."""
    names = [f"[`{entry.name}`](#{anchor(heading(entry))})" for entry in found]
    return f"- [{title}](#{anchor(title)})\n  " + "\n  ".join(wrapped(names))


def heading(entry: Documented) -> str:
    """The heading of an entry: a class, or a name as users write it."""
    if isinstance(entry, Class):
        return f"class {entry.name}"
    if entry.name in exported(entry.package):
        return f"ms.{entry.name}"
    if entry.name in exported(entry.package["testing"]):
        return f"testing.{entry.name}"
    (path,) = (path for path in RETURNED if path.endswith(f".{entry.name}"))
    return ".".join(path.split(".")[-2:])


def anchor(text: str) -> str:
    """How code hosts link to a heading."""
    return re.sub(r"[^\w\- ]", "", text).lower().replace(" ", "-")


def wrapped(words: list[str]) -> Iterator[str]:
    """The words in short lines, with dots between them."""
    line = ""
    for word in words:
        if line and len(line) + len(word) > 105:
            yield line + " ·"
            line = ""
        line = f"{line} · {word}" if line else word
    yield line


def markdown(entry: Documented, names: list[str]) -> str:
    """The entry of a name; of a class also its members."""
    parts = [f"### {heading(entry)}\n", *described(entry, names)]
    if isinstance(entry, Class):
        parts += fields(entry)
        for method in methods(entry):
            parts += [f"#### {entry.name}.{method.name}\n", *described(method, names)]
    return "\n".join(parts)


def fields(entry: Class) -> list[str]:
    """A table of the attributes and properties of a class, where it has any."""
    rows = [
        f"| `{each.name}` | {type_of(each)} | {sentence(each)} |"
        for each in members(entry)
        if isinstance(each, Attribute) and not example(each)
    ]
    return ["| field | type | meaning |", "|---|---|---|", *rows, ""] if rows else []


def methods(entry: Class) -> list[Documented]:
    """Members with a heading: methods, and properties with an example."""
    return [each for each in members(entry) if isinstance(each, Function) or example(each)]


def example(entry: Documented) -> bool:
    return entry.docstring is not None and ">>> " in entry.docstring.value


def type_of(attribute: Attribute) -> str:
    text = "" if attribute.annotation is None else str(attribute.annotation)
    return f"`{text}`".replace("|", "\\|") if text else ""


def sentence(attribute: Attribute) -> str:
    """The docstring of a field on one line."""
    text = attribute.docstring.value if attribute.docstring else ""
    return " ".join(text.split()).replace("``", "`").replace("|", "\\|")


def members(entry: Class) -> list[Documented]:
    """The public members that have a docstring: its own, then those that it inherits."""
    found = {**entry.inherited_members, **entry.members}
    public = [m for name, m in found.items() if not name.startswith("_") and m.has_docstring]
    return sorted(map(target, public), key=lambda member: (member.parent != entry, line(member)))


def described(entry: Documented, names: list[str]) -> list[str]:
    """Signature and docstring."""
    parts = [f"```python\n{signature(entry)}\n```\n"] if signature(entry) else []
    if entry.docstring is not None:
        parts += paragraphs(entry.docstring.value, names)
    return parts


def signature(entry: Documented) -> str:
    """How a function is called, what fields a class has, or of what type a property is."""
    if isinstance(entry, Attribute):
        return f"{entry.name}: {entry.annotation}" if entry.annotation is not None else ""
    if isinstance(entry, Class):
        bases = f"({', '.join(map(str, entry.bases))})" if entry.bases else ""
        if entry.name not in exported(entry.package["testing"]) or not entry.parameters:
            return f"class {entry.name}{bases}"
    parameters = list(parameters_of(entry))
    returns = f" -> {entry.returns}" if isinstance(entry, Function) and entry.returns else ""
    line = f"{entry.name}({', '.join(parameters)}){returns}"
    if len(line) <= 100:
        return line
    return "\n".join([f"{entry.name}(", *(f"    {each}," for each in parameters), f"){returns}"])


def parameters_of(called: Function | Class) -> Iterator[str]:
    """The parameters as they are written, without ``self``."""
    starred = False
    for parameter in called.parameters:
        if parameter.name in ("self", "cls"):
            continue
        stars = {ParameterKind.var_positional: "*", ParameterKind.var_keyword: "**"}
        if parameter.kind is ParameterKind.keyword_only and not starred:
            yield "*"
        starred |= parameter.kind in (ParameterKind.keyword_only, ParameterKind.var_positional)
        annotation = f": {parameter.annotation}" if parameter.annotation is not None else ""
        variadic = parameter.kind in stars
        default = "" if variadic or parameter.default is None else f" = {parameter.default}"
        yield f"{stars.get(parameter.kind, '')}{parameter.name}{annotation}{default}"


def paragraphs(docstring: str, names: list[str]) -> Iterator[str]:
    """The text of a docstring, with its examples in fences."""
    for paragraph in docstring.strip().split("\n\n"):
        if paragraph.startswith(">>> "):
            lines = [in_millstream(line, names) for line in paragraph.splitlines()]
            yield "\n".join(["```python", *lines, "", "```\n"])
        elif paragraph.startswith(("    ", "├", "└")):
            yield f"```text\n{paragraph}\n```\n"
        else:
            yield paragraph.replace("``", "`") + "\n"


def in_millstream(line: str, names: list[str]) -> str:
    """A line of an example, in which Millstream's functions are called as users call them."""
    if not line.startswith((">>> ", "... ")):
        return line
    # A dot follows classes only: `timer.key` is of a parameter, not of the function `timer`.
    classes = [name for name in names if name[0].isupper()]
    call = re.compile(rf"(?<![\w.])(({'|'.join(names)})(?=\()|({'|'.join(classes)})(?=\.))")
    code_and_texts = re.split(r"""("[^"]*"|'[^']*')""", line)
    return "".join(
        part if part[:1] in ("'", '"') else call.sub(r"ms.\1", part) for part in code_and_texts
    )


def types(package: Module, sections: Iterable[list[Documented]]) -> Iterator[str]:
    """The aliases in signatures, with their definitions."""
    functions = [
        function
        for section in sections
        for entry in section
        for function in ([entry] if not isinstance(entry, Class) else members(entry))
        if isinstance(function, Function)
    ]
    named = {
        part.canonical_path
        for function in functions
        for annotation in (*(p.annotation for p in function.parameters), function.returns)
        if isinstance(annotation, Expr)
        for part in annotation.iterate(flat=True)
        if isinstance(part, ExprName) and part.canonical_path.startswith("millstream.")
    }
    for path in sorted(named, key=lambda path: path.rpartition(".")[2]):
        alias = package[path.removeprefix("millstream.")]
        if isinstance(alias, Attribute):
            yield f"- `{alias.name} = {alias.value}`"
            if alias.docstring:
                yield f"  {alias.docstring.value.replace('``', '`')}"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
