"""Trees of containers: torch.utils._pytree."""

import collections
import importlib

import pytest

Point = collections.namedtuple("Point", "x y")


@pytest.fixture
def pytree(torch):
    return importlib.import_module(torch.__name__ + ".utils._pytree")


TREES = [
    1,
    None,
    [],
    (),
    {},
    [1, (2, [3])],
    {"b": 1, "a": [2]},
    collections.OrderedDict(z=1, y=(2, 3)),
    collections.defaultdict(list, {"k": [1]}),
    collections.deque([1, [2]], maxlen=3),
    Point(1, [2, None]),
]


@pytest.mark.parametrize("tree", TREES, ids=repr)
def test_flat_and_back(pytree, tree):
    leaves, spec = pytree.tree_flatten(tree)
    again = pytree.tree_unflatten(leaves, spec)
    assert again == tree and type(again) is type(tree)
    assert leaves == pytree.tree_leaves(tree) == list(pytree.tree_iter(tree))
    assert spec == pytree.tree_structure(tree) and spec.num_leaves == len(leaves)
    assert getattr(again, "maxlen", None) == getattr(tree, "maxlen", None)
    assert getattr(again, "default_factory", None) is getattr(tree, "default_factory", None)


def test_structure(pytree):
    spec = pytree.tree_structure([1, {"a": (2, 3)}])
    assert (spec.num_leaves, spec.num_nodes, spec.num_children) == (3, 6, 2)
    assert spec.type is list and spec.context is None and not spec.is_leaf() and spec.children()[0].is_leaf()
    assert (
        repr(spec)
        == "TreeSpec(list, None, [*,\n  TreeSpec(dict, ['a'], [TreeSpec(tuple, None, [*,\n      *])])])"
    )
    assert repr(pytree.tree_structure(Point(1, 2))).startswith("TreeSpec(namedtuple, <class '")
    assert pytree.treespec_pprint(spec) == "[*, {'a': (*, *)}]"
    assert hash(spec) == hash(pytree.tree_structure([4, {"a": (5, 6)}]))
    assert spec != pytree.tree_structure([4, {"b": (5, 6)}]) and spec != pytree.tree_structure(
        (4, {"a": (5, 6)})
    )


def test_leaves(pytree, torch):
    class Sub(list):
        pass

    assert pytree.tree_leaves([Sub([1]), "ab", {1, 2}]) == [Sub([1]), "ab", {1, 2}]
    assert pytree.tree_leaves([1, {"a": 2}], is_leaf=lambda x: isinstance(x, dict)) == [1, {"a": 2}]
    assert (
        pytree.tree_is_leaf(None)
        and not pytree.tree_is_leaf([])
        and pytree.tree_is_leaf([], is_leaf=lambda x: True)
    )
    result = torch.max(torch.tensor([[1.0, 3.0]]), 1)
    values, spec = pytree.tree_flatten(result)
    assert [v.tolist() for v in values] == [[3.0], [1]] and type(spec.unflatten(values)) is type(result)


def test_maps(pytree):
    assert pytree.tree_map(lambda x: x + 1, {"a": [1, (2,)]}) == {"a": [2, (3,)]}
    assert pytree.tree_map(lambda x, y: (x, y), [1, (2,)], ["a", (["b"],)]) == [(1, "a"), ((2, ["b"]),)]
    assert pytree.tree_map(lambda x, y: x + y, {"a": 1, "b": 2}, {"b": 20, "a": 10}) == {"a": 11, "b": 22}
    seen, tree = [], [1, [2]]
    assert pytree.tree_map_(seen.append, tree) is tree and seen == [1, 2]
    assert pytree.tree_map_only(int, lambda x: -x, [1, "a", 2.5]) == [-1, "a", 2.5]
    assert pytree.tree_map_only((int, float), lambda x: -x, [1, "a", 2.5]) == [-1, "a", -2.5]
    assert pytree.tree_map_only(lambda x: x == 1, lambda x: -x, [1, 2]) == [-1, 2]
    assert pytree.tree_any(lambda x: x > 2, [1, [3]]) and not pytree.tree_all(lambda x: x > 2, [1, [3]])
    assert pytree.tree_all_only(int, lambda x: x > 0, [1, "x"]) and not pytree.tree_any_only(
        str, bool, [1, ""]
    )


@pytest.mark.parametrize(
    "other, words",
    [
        ([1, 2, 3], "arity mismatch; expected 2, but got 3"),
        ((1, 2), "type mismatch; expected <class 'list'>"),
    ],
)
def test_trees_that_differ(pytree, other, words):
    with pytest.raises(ValueError, match=words):
        pytree.tree_map(lambda x, y: x, [1, 2], other)


def test_wrong_number_of_leaves(pytree):
    for leaves in ([1], [1, 2, 3]):
        with pytest.raises(
            ValueError, match="has length %d but the spec refers to a pytree that holds 2 items" % len(leaves)
        ):
            pytree.tree_unflatten(leaves, pytree.tree_structure([1, 2]))


def test_registered_class(pytree):
    class Pair:
        def __init__(self, one, two):
            self.one, self.two = one, two

    pytree.register_pytree_node(
        Pair, lambda p: ([p.one, p.two], "c"), lambda children, context: Pair(*children)
    )
    tree = pytree.tree_map(lambda x: x * 2, [Pair(1, (2,))])
    assert (tree[0].one, tree[0].two) == (2, (4,))
    with pytest.raises(ValueError, match="already registered as pytree node"):
        pytree.register_pytree_node(Pair, None, None)
    with pytest.raises(ValueError, match="Did not find a flatten_with_keys_fn"):
        pytree.tree_flatten_with_path(tree)


def test_paths(pytree):
    tree = [1, {"a": (2, 3)}, Point(4, 5)]
    pairs = pytree.tree_leaves_with_path(tree)
    assert [(pytree.keystr(path), leaf) for path, leaf in pairs] == [
        ("[0]", 1),
        ("[1]['a'][0]", 2),
        ("[1]['a'][1]", 3),
        ("[2].x", 4),
        ("[2].y", 5),
    ]
    assert all(pytree.key_get(tree, path) == leaf for path, leaf in pairs)
    assert pytree.tree_map_with_path(lambda path, x: (pytree.keystr(path), x), {"z": [1]}) == {
        "z": [("['z'][0]", 1)]
    }


def test_prefixes(pytree):
    spec = pytree.tree_structure([1, [2, 3]])
    assert pytree._broadcast_to_and_flatten(7, spec) == [7, 7, 7]
    assert pytree._broadcast_to_and_flatten([7, None], spec) == [7, None, None]
    assert pytree._broadcast_to_and_flatten([7], spec) is None
