# SPDX-License-Identifier: BSD-3-Clause
"""Trees of containers: lists, tuples, named tuples, dicts, deques, results with names, and registered classes; anything else,
None as well, is a leaf.

>>> from minitorch.utils import _pytree as pytree
>>> leaves, spec = pytree.tree_flatten([1, {"a": (2, 3)}])
>>> leaves, pytree.tree_unflatten([10, 20, 30], spec)
([1, 2, 3], [10, {'a': (20, 30)}])
>>> pytree.tree_map(lambda x, y: x + y, (1, [2]), (3, [4]))
(4, [6])
"""

from collections import OrderedDict, defaultdict, deque, namedtuple

__all__ = (
    "PyTree TreeSpec LeafSpec keystr key_get register_pytree_node tree_is_leaf tree_flatten tree_flatten_with_path tree_unflatten "
    "tree_iter tree_leaves tree_leaves_with_path tree_structure tree_map tree_map_with_path tree_map_ tree_map_only "
    "tree_map_only_ tree_all tree_any tree_all_only tree_any_only treespec_pprint is_namedtuple is_namedtuple_class "
    "is_namedtuple_instance is_structseq is_structseq_class is_structseq_instance"
).split()

PyTree = object

SequenceKey = namedtuple("SequenceKey", "idx")
SequenceKey.__str__ = lambda key: "[%r]" % key.idx
SequenceKey.get = lambda key, tree: tree[key.idx]
MappingKey = namedtuple("MappingKey", "key")
MappingKey.__str__ = lambda key: "[%r]" % (key.key,)
MappingKey.get = lambda key, tree: tree[key.key]
GetAttrKey = namedtuple("GetAttrKey", "name")
GetAttrKey.__str__ = lambda key: "." + key.name
GetAttrKey.get = lambda key, tree: getattr(tree, key.name)

# --- kinds of nodes ---


class NodeDef:
    """How nodes of a type are taken apart: flatten(node) -> (children, context), and made: unflatten(children, context)."""

    def __init__(self, type, flatten_fn, unflatten_fn, flatten_with_keys_fn=None):
        self.type, self.flatten_fn, self.unflatten_fn = type, flatten_fn, unflatten_fn
        self.flatten_with_keys_fn = flatten_with_keys_fn


SUPPORTED_NODES = {}


def register_pytree_node(
    cls, flatten_fn, unflatten_fn, *, serialized_type_name=None, flatten_with_keys_fn=None, **ignored
):
    """register_pytree_node(cls, flatten_fn, unflatten_fn, *, flatten_with_keys_fn=None)

    Makes instances of a class nodes: flatten_fn(node) -> (list of children, context),
    unflatten_fn(children, context) -> node, flatten_with_keys_fn(node) -> (list of (key, child), context).
    ValueError if the class is registered already.
    """
    if cls in SUPPORTED_NODES:
        raise ValueError("%r is already registered as pytree node." % cls)
    SUPPORTED_NODES[cls] = NodeDef(cls, flatten_fn, unflatten_fn, flatten_with_keys_fn)


_register_pytree_node = register_pytree_node


def _sequence_with_keys(node):
    return [(SequenceKey(i), child) for i, child in enumerate(node)], None


def _flatten_dict(node):
    return list(node.values()), list(node)


def _register_containers():
    def keys(flatten, key=MappingKey):
        def with_keys(node):
            children, context = flatten(node)
            return list(zip(map(key, node), children)), context

        return with_keys

    def flatten_defaultdict(node):
        return list(node.values()), [node.default_factory, list(node)]

    register = register_pytree_node
    for kind in (list, tuple):
        register(
            kind,
            lambda node: (list(node), None),
            lambda c, _, k=kind: k(c),
            flatten_with_keys_fn=_sequence_with_keys,
        )
    for kind in (dict, OrderedDict):
        make = lambda children, context, k=kind: k(zip(context, children))  # noqa: E731
        register(kind, _flatten_dict, make, flatten_with_keys_fn=keys(_flatten_dict))
    register(
        defaultdict,
        flatten_defaultdict,
        lambda children, context: defaultdict(context[0], zip(context[1], children)),
        flatten_with_keys_fn=keys(flatten_defaultdict),
    )
    register(
        namedtuple,
        lambda node: (list(node), type(node)),
        lambda children, context: context._make(children),
        flatten_with_keys_fn=lambda node: ([*zip(map(GetAttrKey, node._fields), node)], type(node)),
    )
    register(
        deque,
        lambda node: (list(node), node.maxlen),
        lambda children, context: deque(children, maxlen=context),
        flatten_with_keys_fn=lambda node: (_sequence_with_keys(node)[0], node.maxlen),
    )


_register_containers()


def is_namedtuple_class(cls):
    """is_namedtuple_class(cls) -> bool: whether a class was made by namedtuple."""
    fields = getattr(cls, "_fields", None)
    return (
        isinstance(cls, type)
        and issubclass(cls, tuple)
        and isinstance(fields, tuple)
        and all(type(field) is str for field in fields)
        and callable(getattr(cls, "_make", None))
    )


def is_structseq_class(cls):
    """is_structseq_class(cls) -> bool: whether a class is that of a result with names, like `torch.return_types.max`."""
    return (
        isinstance(cls, type)
        and cls.__bases__ == (tuple,)
        and all(
            isinstance(getattr(cls, n, None), int)
            for n in ("n_fields", "n_sequence_fields", "n_unnamed_fields")
        )
    )


def is_namedtuple_instance(obj):
    """is_namedtuple_instance(obj) -> bool"""
    return is_namedtuple_class(type(obj))


def is_structseq_instance(obj):
    """is_structseq_instance(obj) -> bool"""
    return is_structseq_class(type(obj))


def is_namedtuple(obj):
    """is_namedtuple(obj) -> bool: of a class or an instance."""
    return is_namedtuple_class(obj if isinstance(obj, type) else type(obj))


def is_structseq(obj):
    """is_structseq(obj) -> bool: of a class or an instance."""
    return is_structseq_class(obj if isinstance(obj, type) else type(obj))


def _node_def(tree):
    """The kind of node, or None for a leaf.  Subclasses of containers are leaves, but for the two sorts of named tuples."""
    kind = type(tree)
    found = SUPPORTED_NODES.get(kind)
    if found is None and isinstance(tree, tuple):
        if is_namedtuple_class(kind):
            return SUPPORTED_NODES[namedtuple]
        if is_structseq_class(kind) and kind.__module__.endswith("torch.return_types"):
            make = lambda children, context: kind(children)  # noqa: E731
            register_pytree_node(
                kind, lambda node: (list(node), None), make, flatten_with_keys_fn=_sequence_with_keys
            )
            return SUPPORTED_NODES[kind]
    return found


def tree_is_leaf(tree, is_leaf=None):
    """tree_is_leaf(tree, is_leaf=None) -> bool: whether it is no node, or is_leaf(tree) says so."""
    return (is_leaf is not None and is_leaf(tree)) or _node_def(tree) is None


# --- structure ---


class TreeSpec:
    """The structure of a tree without its leaves: `type` (None for a leaf), `context`, `children()`."""

    __slots__ = ("type", "context", "_children", "num_leaves", "num_nodes")

    def __init__(self, type, context, children=()):
        self.type, self.context, self._children = type, context, list(children)
        self.num_nodes = 1 + sum(child.num_nodes for child in self._children)
        self.num_leaves = 1 if type is None else sum(child.num_leaves for child in self._children)

    @property
    def num_children(self):
        return len(self._children)

    def children(self):
        """children() -> list of TreeSpec"""
        return list(self._children)

    def child(self, index):
        """child(index) -> TreeSpec"""
        return self._children[index]

    def is_leaf(self):
        """is_leaf() -> bool"""
        return self.type is None

    def __eq__(self, other):
        if not isinstance(other, TreeSpec):
            return NotImplemented
        return (self.type, self.context, self._children) == (other.type, other.context, other._children)

    def __hash__(self):
        context = self.context
        if self.type in (dict, OrderedDict, defaultdict):
            context = str(context)
        return hash((self.type, context, tuple(self._children)))

    def __repr__(self, indent=0):
        if self.type is None:
            return "*"
        indent += 2
        children = (",\n" + " " * indent).join(child.__repr__(indent) for child in self._children)
        return "TreeSpec(%s, %s, [%s])" % (self.type.__name__, self.context, children)

    def unflatten(self, leaves):
        """unflatten(leaves) -> the tree of this structure with these leaves; ValueError if there are more or fewer."""
        leaves = list(leaves)
        if len(leaves) != self.num_leaves:
            raise ValueError(
                "treespec.unflatten(leaves): `leaves` has length %d but the spec refers to a pytree that holds %d items (%r)."
                % (len(leaves), self.num_leaves, self)
            )
        return self._make(iter(leaves))

    def _make(self, leaves):
        if self.type is None:
            return next(leaves)
        return SUPPORTED_NODES[self.type].unflatten_fn(
            [child._make(leaves) for child in self._children], self.context
        )

    def flatten_up_to(self, tree):
        """flatten_up_to(tree) -> list: the subtrees of a tree that stand where this structure has leaves; ValueError where it
        differs.
        """
        subtrees = []
        self._pick(tree, subtrees)
        return subtrees

    def _pick(self, tree, subtrees):
        if self.type is None:
            subtrees.append(tree)
            return
        found = _node_def(tree)
        if found is None or (found.type is not self.type and not {found.type, self.type} <= _DICTS):
            raise ValueError("Node type mismatch; expected %r, but got %r." % (self.type, type(tree)))
        children, context = found.flatten_fn(tree)
        if len(children) != self.num_children:
            raise ValueError(
                "Node arity mismatch; expected %d, but got %d." % (self.num_children, len(children))
            )
        if self.type in _DICTS:
            keys = self.context[1] if self.type is defaultdict else self.context
            if set(keys) != set(tree):
                raise ValueError("Node keys mismatch; expected %r, but got %r." % (list(keys), list(tree)))
            children = [tree[key] for key in keys]
        elif context != self.context and self.type is not deque:
            raise ValueError("Node context mismatch for node type %r." % (self.type,))
        for spec, child in zip(self._children, children):
            spec._pick(child, subtrees)


_DICTS = {dict, OrderedDict, defaultdict}
_LEAF = TreeSpec(None, None)


def LeafSpec():
    """LeafSpec() -> TreeSpec: the structure of a leaf."""
    return _LEAF


# --- functions ---


def _flatten(tree, leaves, is_leaf):
    found = None if is_leaf is not None and is_leaf(tree) else _node_def(tree)
    if found is None:
        leaves.append(tree)
        return _LEAF
    children, context = found.flatten_fn(tree)
    return TreeSpec(found.type, context, [_flatten(child, leaves, is_leaf) for child in children])


def tree_flatten(tree, is_leaf=None):
    """tree_flatten(tree, is_leaf=None) -> (list of leaves, TreeSpec)"""
    leaves = []
    spec = _flatten(tree, leaves, is_leaf)
    return leaves, spec


def tree_unflatten(leaves, treespec):
    """tree_unflatten(leaves, treespec) -> the tree; ValueError if the number of leaves is not that of the structure."""
    if not isinstance(treespec, TreeSpec):
        raise TypeError(
            "tree_unflatten(leaves, treespec): Expected `treespec` to be instance of TreeSpec but got item of type %s."
            % type(treespec)
        )
    return treespec.unflatten(leaves)


def tree_iter(tree, is_leaf=None):
    """tree_iter(tree, is_leaf=None): goes through the leaves."""
    found = None if is_leaf is not None and is_leaf(tree) else _node_def(tree)
    if found is None:
        yield tree
        return
    for child in found.flatten_fn(tree)[0]:
        yield from tree_iter(child, is_leaf)


def tree_leaves(tree, is_leaf=None):
    """tree_leaves(tree, is_leaf=None) -> list of leaves"""
    return list(tree_iter(tree, is_leaf))


def tree_structure(tree, is_leaf=None):
    """tree_structure(tree, is_leaf=None) -> TreeSpec"""
    return tree_flatten(tree, is_leaf)[1]


def tree_map(func, tree, *rests, is_leaf=None):
    """tree_map(func, tree, *rests, is_leaf=None) -> a tree of func(leaf, ...); trees after the first begin like it."""
    leaves, spec = tree_flatten(tree, is_leaf)
    return spec.unflatten(map(func, leaves, *map(spec.flatten_up_to, rests)))


def tree_map_(func, tree, *rests, is_leaf=None):
    """tree_map_(func, tree, *rests, is_leaf=None) -> tree: calls func for every leaf and gives the tree back."""
    leaves, spec = tree_flatten(tree, is_leaf)
    for arguments in zip(leaves, *map(spec.flatten_up_to, rests)):
        func(*arguments)
    return tree


def _chosen(wanted):
    """The test of a type, a tuple or union of types, or a function that says which."""
    if isinstance(wanted, (type, tuple)) or not callable(wanted):
        return lambda leaf: isinstance(leaf, wanted)
    return wanted


def map_only(type_or_types_or_pred, /):
    """map_only(type_or_types_or_pred): a decorator; the function is applied to such values, others stay."""
    chosen = _chosen(type_or_types_or_pred)
    return lambda func: lambda leaf: func(leaf) if chosen(leaf) else leaf


def tree_map_only(type_or_types_or_pred, /, func, tree, is_leaf=None):
    """tree_map_only(type_or_types_or_pred, func, tree, is_leaf=None) -> a tree; leaves of other types stay."""
    return tree_map(map_only(type_or_types_or_pred)(func), tree, is_leaf=is_leaf)


def tree_map_only_(type_or_types_or_pred, /, func, tree, is_leaf=None):
    """tree_map_only_(type_or_types_or_pred, func, tree, is_leaf=None) -> tree: calls func for leaves of these types."""
    return tree_map_(map_only(type_or_types_or_pred)(func), tree, is_leaf=is_leaf)


def tree_all(pred, tree, is_leaf=None):
    """tree_all(pred, tree, is_leaf=None) -> bool: whether pred holds for all leaves."""
    return all(map(pred, tree_iter(tree, is_leaf)))


def tree_any(pred, tree, is_leaf=None):
    """tree_any(pred, tree, is_leaf=None) -> bool: whether pred holds for a leaf."""
    return any(map(pred, tree_iter(tree, is_leaf)))


def tree_all_only(type_or_types, /, pred, tree, is_leaf=None):
    """tree_all_only(type_or_types, pred, tree, is_leaf=None) -> bool: whether pred holds for all leaves of these types."""
    return all(pred(leaf) for leaf in tree_iter(tree, is_leaf) if isinstance(leaf, type_or_types))


def tree_any_only(type_or_types, /, pred, tree, is_leaf=None):
    """tree_any_only(type_or_types, pred, tree, is_leaf=None) -> bool: whether pred holds for a leaf of these types."""
    return any(pred(leaf) for leaf in tree_iter(tree, is_leaf) if isinstance(leaf, type_or_types))


def _broadcast_to_and_flatten(tree, treespec, is_leaf=None):
    """Leaves for a structure from a tree that may end earlier, each as often as needed; None if it does not fit."""
    if tree_is_leaf(tree, is_leaf):
        return [tree] * treespec.num_leaves
    found = None if treespec.is_leaf() else _node_def(tree)
    if found is None or found.type is not treespec.type:
        return None
    children, context = found.flatten_fn(tree)
    if len(children) != treespec.num_children or context != treespec.context:
        return None
    parts = [_broadcast_to_and_flatten(c, s, is_leaf) for c, s in zip(children, treespec._children)]
    return None if None in parts else [leaf for part in parts for leaf in part]


# --- paths ---


def _with_path(tree, path, is_leaf):
    found = None if is_leaf is not None and is_leaf(tree) else _node_def(tree)
    if found is None:
        yield path, tree
        return
    if found.flatten_with_keys_fn is None:
        raise ValueError("Did not find a flatten_with_keys_fn for type: %s" % found.type)
    for key, child in found.flatten_with_keys_fn(tree)[0]:
        yield from _with_path(child, (*path, key), is_leaf)


def tree_leaves_with_path(tree, is_leaf=None):
    """tree_leaves_with_path(tree, is_leaf=None) -> list of (path, leaf); a path is a tuple of keys."""
    return list(_with_path(tree, (), is_leaf))


def tree_flatten_with_path(tree, is_leaf=None):
    """tree_flatten_with_path(tree, is_leaf=None) -> (list of (path, leaf), TreeSpec)"""
    return tree_leaves_with_path(tree, is_leaf), tree_structure(tree, is_leaf)


def tree_map_with_path(func, tree, *rests, is_leaf=None):
    """tree_map_with_path(func, tree, *rests, is_leaf=None) -> a tree of func(path, leaf, ...)"""
    pairs, spec = tree_flatten_with_path(tree, is_leaf)
    others = map(spec.flatten_up_to, rests)
    return spec.unflatten(func(path, leaf, *more) for (path, leaf), *more in zip(pairs, *others))


def keystr(kp):
    """keystr(kp) -> str: a path as it is written in Python."""
    return "".join(map(str, kp))


def key_get(obj, kp):
    """key_get(obj, kp): what stands at a path."""
    for key in kp:
        obj = key.get(obj)
    return obj


def treespec_pprint(treespec):
    """treespec_pprint(treespec) -> str: the structure as a tree of stars."""
    star = type("Star", (), {"__repr__": lambda self: "*"})()
    return repr(treespec.unflatten([star] * treespec.num_leaves))
