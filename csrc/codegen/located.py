"""YAML nodes with their file and line."""

from dataclasses import dataclass

import yaml

from schema import CatalogError


@dataclass
class Located:
    value: object  # str, list of Located, dict of name to Located
    where: str


def convert(node, file_name):
    where = "%s:%d" % (file_name, node.start_mark.line + 1)
    if isinstance(node, yaml.ScalarNode):
        return Located(node.value, where)
    if isinstance(node, yaml.SequenceNode):
        return Located([convert(n, file_name) for n in node.value], where)
    result = {}
    for key, value in node.value:
        if not isinstance(key, yaml.ScalarNode):
            raise CatalogError("a key must be a word", "%s:%d" % (file_name, key.start_mark.line + 1))
        if key.value in result:
            raise CatalogError(
                "'%s' occurs twice" % key.value, "%s:%d" % (file_name, key.start_mark.line + 1)
            )
        result[key.value] = convert(value, file_name)
    return Located(result, where)


def text_of(item):
    if not isinstance(item.value, str):
        raise CatalogError("a word or a line of text is expected", item.where)
    return " ".join(item.value.split())


def words_of(item):
    if isinstance(item.value, list):
        return tuple(text_of(i) for i in item.value)
    return tuple(text_of(item).split())


def flag_of(item):
    if item.value not in ("true", "false"):
        raise CatalogError("true or false is expected", item.where)
    return item.value == "true"
