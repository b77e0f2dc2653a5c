"""The logical plan as a picture: an SVG for notebooks, sources on top, that needs no network."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape

from millstream.plan.explain.details import aligned, details
from millstream.plan.names import kind_of
from millstream.plan.nodes import Node, Rejected, SideOutput, Sink, Source, Stateful, walk

_CHARACTER, _LINE, _PADDING, _GAP = 7.3, 17, 12, 44
_LONGEST = 72
_TINTS = {
    Source: "#dcf3e3",
    Stateful: "#dbeafe",
    SideOutput: "#fde8d0",
    Rejected: "#fde8d0",
    Sink: "#ece4fb",
}


@dataclass(frozen=True, slots=True)
class _Box:
    """A step with its place in the picture; ``x`` is its middle, ``y`` its top."""

    node: Node
    lines: tuple[str, ...]
    x: float
    y: float

    @property
    def width(self) -> float:
        return _width(self.lines)

    @property
    def height(self) -> float:
        return _height(self.lines)


def draw_plan(*outputs: Node) -> str:
    """The graph behind the outputs as SVG.

    Boxes bring their own background, so that they read on light and dark pages alike.
    """
    boxes = _placed(outputs)
    left = min(box.x - box.width / 2 for box in boxes.values()) - _PADDING
    right = max(box.x + box.width / 2 for box in boxes.values()) + _PADDING
    bottom = max(box.y + box.height for box in boxes.values()) + _PADDING
    size = f'width="{right - left:.0f}" height="{bottom:.0f}"'
    view = f'viewBox="{left:.0f} 0 {right - left:.0f} {bottom:.0f}"'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} {view} role="img" '
            'font-family="ui-monospace, Menlo, Consolas, monospace" font-size="12">',
            f"<title>{escape('Plan of ' + ', '.join(node.name for node in outputs))}</title>",
            '<defs><marker id="millstream-arrow" viewBox="0 0 8 8" refX="7" refY="4" '
            'markerWidth="7" markerHeight="7" orient="auto">'
            '<path d="M0 0 L8 4 L0 8 z" fill="#8b949e"/></marker></defs>',
            *(_arrow(boxes[id(a)], box) for box in boxes.values() for a in box.node.inputs),
            *(part for box in boxes.values() for part in _drawn(box)),
            "</svg>",
        ]
    )


def _placed(outputs: tuple[Node, ...]) -> dict[int, _Box]:
    """Each layer below the one that feeds it, its boxes near the middle of their inputs."""
    boxes: dict[int, _Box] = {}
    top = float(_PADDING)
    for layer in _layers(outputs):
        layer.sort(key=lambda node: _pull(node, boxes))
        texts = [_text(node) for node in layer]
        total = sum(map(_width, texts)) + _GAP * (len(layer) - 1)
        x = sum(_pull(node, boxes) for node in layer) / len(layer) - total / 2
        for node, lines in zip(layer, texts, strict=True):
            boxes[id(node)] = _Box(node, lines, x + _width(lines) / 2, top)
            x += _width(lines) + _GAP
        top += max(map(_height, texts)) + _GAP
    return boxes


def _layers(outputs: tuple[Node, ...]) -> list[list[Node]]:
    depth: dict[int, int] = {}
    layers: list[list[Node]] = []
    for node in walk(*outputs):
        depth[id(node)] = max((depth[id(each)] + 1 for each in node.inputs), default=0)
        layers.extend([] for _ in range(depth[id(node)] + 1 - len(layers)))
        layers[depth[id(node)]].append(node)
    return layers


def _pull(node: Node, boxes: dict[int, _Box]) -> float:
    inputs = node.inputs
    return sum(boxes[id(each)].x for each in inputs) / len(inputs) if inputs else 0.0


def _text(node: Node) -> tuple[str, ...]:
    lines = [f"{kind_of(node)} {node.name!r}", *aligned(details(node))]
    return tuple(line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…" for line in lines)


def _width(lines: tuple[str, ...]) -> float:
    return max(map(len, lines)) * _CHARACTER + 2 * _PADDING


def _height(lines: tuple[str, ...]) -> float:
    return len(lines) * _LINE + 1.3 * _PADDING


def _drawn(box: _Box) -> Iterator[str]:
    tint = next((t for kind, t in _TINTS.items() if isinstance(box.node, kind)), "#f3f4f6")
    left = box.x - box.width / 2
    yield (
        f'<rect x="{left:.1f}" y="{box.y:.1f}" width="{box.width:.1f}" height="{box.height:.1f}" '
        f'rx="6" fill="{tint}" stroke="#57606a"/>'
    )
    for index, line in enumerate(box.lines):
        weight = "" if index else ' font-weight="bold"'
        y = box.y + _PADDING / 2 + (index + 0.75) * _LINE
        yield (
            f'<text x="{left + _PADDING:.1f}" y="{y:.1f}" fill="#1f2328"{weight} '
            f'xml:space="preserve">{escape(line)}</text>'
        )


def _arrow(start: _Box, end: _Box) -> str:
    top, bottom = start.y + start.height, end.y - 2
    middle = (top + bottom) / 2
    return (
        f'<path d="M{start.x:.1f} {top:.1f} C{start.x:.1f} {middle:.1f} {end.x:.1f} {middle:.1f} '
        f'{end.x:.1f} {bottom:.1f}" fill="none" stroke="#8b949e" stroke-width="1.5" '
        'marker-end="url(#millstream-arrow)"/>'
    )
