"""Makes the JSON object of a tree for `show --json` and `decode --json`."""

from __future__ import annotations

from typing import Any, NamedTuple

from analyzer.decode.masking import has_hidden_parts, has_hidden_value, is_secret
from analyzer.messages.defects import format_label
from dissectors.api import MessageHeader
from dissectors.field import Field, Tree
from dissectors.finding import Finding
from dissectors.wire.secret import Secret


class PrintedMessage(NamedTuple):
    """The values that are printed about a message in addition to its tree."""

    protocol: str
    header: MessageHeader
    error: tuple[int, str] | None = None
    info: str | None = None
    findings: tuple[Finding, ...] = ()


def make_tree_object(message: PrintedMessage, tree: Tree) -> dict[str, Any]:
    """Makes the object of a tree for a JsonWriter, which masks or shows its Secrets."""
    header = message.header
    return {
        "protocol": message.protocol,
        "role": header.role.name.lower(),
        "operation": header.operation,
        "code": header.code,
        "version": header.version,
        "state": header.state.name.lower(),
        "correlation": header.key,
        "error": make_error_object(message.error),
        "info": message.info,
        "findings": [make_finding_object(finding) for finding in (*message.findings, *tree.findings)],
        "sources": [
            {
                "id": source.id,
                "name": source.name,
                "length": source.length,
                "parent": None if source.parent is None else list(source.parent),
            }
            for source in tree.sources
        ],
        "fields": [make_node_object(node) for node in tree.fields],
    }


def make_error_object(error: tuple[int, str] | None) -> dict[str, Any] | None:
    """Makes the `error` object of a row or tree."""
    return None if error is None else {"code": error[0], "name": error[1]}


def make_finding_object(finding: Finding) -> dict[str, Any]:
    """Makes the object of a finding, with its place in the bytes if it has one."""
    found: dict[str, Any] = {
        "severity": finding.severity.name.lower(),
        "code": finding.code,
        "text": finding.text,
    }
    if finding.offset is not None:
        found |= {"source": finding.source, "offset": finding.offset, "length": finding.length}
    return found


def make_node_object(node: Field, hidden: bool = False) -> dict[str, Any]:
    """Makes the object of a node and the nodes below it; below a secret all values are masked."""
    secret = hidden or is_secret(node)
    found: dict[str, Any] = {
        "name": node.spec.name,
        "type": node.spec.type,
        "value": mask_value(node) if secret or has_hidden_value(node) else node.value,
    }
    text = None if secret else format_label(node).text
    if text is not None:
        found["text"] = text
    found |= {"source": node.source, "offset": node.offset, "length": node.length}
    if node.head:
        found["head"] = node.head
    if node.bits is not None:
        found["bits"] = node.bits
    if node.children:
        below = hidden or has_hidden_parts(node)
        found["children"] = [make_node_object(child, below) for child in node.children]
    return found


def mask_value(node: Field) -> Any:
    """Returns the value of a node, as a Secret if it must be masked."""
    value = node.value
    if value is None or isinstance(value, Secret) or (node.children and not isinstance(value, bytes | str)):
        return value
    return Secret(value if isinstance(value, bytes | str) else str(value))
