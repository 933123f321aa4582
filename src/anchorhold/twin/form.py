"""Form encoding as Stripe's clients send it: `a[b]=1`, `a[]=1` and `a[0]=1` become nested dicts."""

from urllib.parse import parse_qsl

from anchorhold.twin.errors import invalid

Tree = dict[str, "str | Tree"]
"""Decoded form: every leaf is a string; a list is a dict whose keys are positions."""


def pairs(text: str) -> list[tuple[str, str]]:
    """Name and value of every field, in order, blank values kept."""
    return parse_qsl(text, keep_blank_values=True) if text else []


def tree(fields: list[tuple[str, str]]) -> Tree:
    """The fields as a tree. Refused with 400 when one name is both a value and a hash."""
    root: Tree = {}
    for name, value in fields:
        if "[" in name:
            _plant(root, name, value)
        elif isinstance(root.get(name), dict):
            raise invalid(f"Invalid object: {name}", param=name)
        else:
            root[name] = value
    return root


def _plant(root: Tree, name: str, value: str) -> None:
    head, *rest = name.replace("]", "").split("[")
    node = root
    step = head
    for part in rest:
        child = node.setdefault(step, {})
        if not isinstance(child, dict):
            raise invalid(f"Invalid object: {head}", param=head)
        node, step = child, part or str(len(child))
    if isinstance(node.get(step), dict):
        raise invalid(f"Invalid object: {head}", param=head)
    node[step] = value
