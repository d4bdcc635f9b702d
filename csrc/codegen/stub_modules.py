"""A Python module as a stub: names, parameters and defaults come from the source, types from stub_types.

What a source cannot say stands in `stubs/given/<module>.pyi`; definitions there replace those of that name.
"""

import ast
import os
import re

from stub_names import lazy, loops
from stub_types import HEAD, IMPORT_TENSOR, STUBS, TYPES_OF_C, of_docstring, reserved

_DUNDERS = {
    "__len__": "_int",
    "__hash__": "_int",
    "__index__": "_int",
    "__repr__": "_str",
    "__str__": "_str",
    "__format__": "_str",
    "__contains__": "_bool",
    "__eq__": "_bool",
    "__bool__": "_bool",
    "__iter__": "Iterator[Any]",
    "__dir__": "list[_str]",
    "__init__": "None",
    "__setattr__": "None",
    "__exit__": "None",
    "__delattr__": "None",
    "__setitem__": "None",
    "__delitem__": "None",
    "__setstate__": "None",
    "__new__": "Self",
    "__deepcopy__": "Self",
    "__copy__": "Self",
    "__reduce_ex__": "Tuple[Any, ...]",
    "__int__": "_int",
    "__float__": "_float",
    "__ne__": "_bool",
    "__lt__": "_bool",
    "__le__": "_bool",
    "__gt__": "_bool",
    "__ge__": "_bool",
}
RESERVED = reserved()
_NO_ATTRIBUTES = ("__slots__", "__hash__", "__constants__", "__doc__")
_INDEXED = "Tuple[Tensor, Tensor]"


def _definition(body, name):
    return next((n for n in body if isinstance(n, ast.FunctionDef) and n.name == name), None)


def _is_named_tuple(node):
    return isinstance(node, ast.Call) and ast.unparse(node.func).endswith("namedtuple")


class Given:
    """Hand-written definitions for one module: {qualified name: lines}, and the rest (imports, aliases)."""

    def __init__(self, module):
        self.definitions, self.rest = {}, []
        path = os.path.join(STUBS, "given", module + ".pyi")
        if os.path.exists(path):
            with open(path, encoding="utf-8") as f:
                text = f.read()
            self.lines = text.split("\n")
            self._collect(ast.parse(text, path).body, "")

    def _collect(self, body, prefix):
        for node in body:
            first = min([node.lineno] + [d.lineno for d in getattr(node, "decorator_list", ())])
            lines = self.lines[first - 1 : node.end_lineno]
            if isinstance(node, ast.ClassDef):
                self._collect(node.body, node.name + ".")
            elif isinstance(node, ast.FunctionDef):
                self.definitions.setdefault(prefix + node.name, []).extend(lines)
            elif isinstance(node, ast.AnnAssign):
                self.definitions.setdefault(prefix + node.target.id, []).extend(lines)
            elif not prefix and not isinstance(node, ast.Expr):
                self.rest.extend(lines)

    def members(self, cls):
        return [n.partition(".")[2] for n in self.definitions if n.startswith(cls + ".")]

    def take(self, name):
        return self.definitions.get(name)


def _own_nodes(function):
    """The nodes of a body without those of functions inside it."""
    stack = list(function.body)
    while stack:
        node = stack.pop()
        yield node
        if not isinstance(node, (ast.FunctionDef, ast.Lambda, ast.ClassDef)):
            stack.extend(ast.iter_child_nodes(node))


def _gives(function):
    """What the statements of a function say of its result: a type, or None."""
    values = [n.value for n in _own_nodes(function) if isinstance(n, ast.Return) and n.value is not None]
    values = [v for v in values if not (isinstance(v, ast.Constant) and v.value is None)]
    values = [v for v in values if not ast.unparse(v).startswith("handle_torch_function(")]
    if any(isinstance(n, (ast.Yield, ast.YieldFrom)) for n in _own_nodes(function)):
        return "Iterator[Any]"
    rest = function.body[1:] if ast.get_docstring(function) else function.body
    if not values and rest and not isinstance(rest[-1], ast.Raise):
        return "None"
    if values and all(isinstance(v, ast.Name) and v.id == "self" for v in values):
        return "Self"
    if values and all(isinstance(v, ast.Constant) for v in values):
        kinds = {type(v.value).__name__ for v in values}
        return "_" + kinds.pop() if len(kinds) == 1 and kinds <= {"bool", "int", "str", "float"} else None
    return None


class ModuleStub:
    def __init__(self, module, path, names, classes, functions_of):
        """`classes`: {name: module} of all public classes; `functions_of(table, name, as)`: lines of a catalog function."""
        self.module, self.names, self.classes, self.functions_of = module, names, classes, functions_of
        with open(path, encoding="utf-8") as f:
            self.tree = ast.parse(f.read(), path)
        self.package = module if path.endswith("__init__.py") else module.rpartition(".")[0]
        self.given = Given(module)
        self.needed = set()
        self.defined = {n.name for n in self.tree.body if isinstance(n, (ast.FunctionDef, ast.ClassDef))}
        self.spaces = {}

    def python_names(self):
        """Names that the module has from Python, not from the tables of C."""
        found = set(self.defined) | {n for n in self.given.definitions if "." not in n}
        for node in self.tree.body:
            if isinstance(node, ast.ImportFrom):
                found |= {a.asname or a.name for a in node.names}
        return found

    # --- functions ---

    def result(self, function, owner, decorators):
        if function.name in _DUNDERS:
            return _DUNDERS[function.name]
        text = of_docstring(ast.get_docstring(function), self.classes)
        text = text or self.names.longest(
            self.names.results, "%s.%s" % (self.module.rpartition(".")[2], owner)
        )
        text = text or self.names.longest(
            self.names.results, "%s.%s" % (self.package.rpartition(".")[2], owner)
        )
        text = text or _gives(function) or "Any"
        for name in set(re.findall(r"\w+", text)) & set(self.classes):
            if name not in self.defined:
                self.needed.add(name)
        return "ContextManager[Any]" if "contextmanager" in decorators else text

    def parameters(self, function, owner, bound):
        a, parts = function.args, []
        positional = a.posonlyargs + a.args
        defaults = [None] * (len(positional) - len(a.defaults)) + list(a.defaults)
        for i, (arg, default) in enumerate(zip(positional, defaults)):
            parts.append(arg.arg if bound and i == 0 else self.parameter(owner, arg.arg, default))
            if a.posonlyargs and i == len(a.posonlyargs) - 1:
                parts.append("/")
        if a.vararg:
            parts.append("*" + self.parameter(owner, a.vararg.arg, None))
        elif a.kwonlyargs:
            parts.append("*")
        for arg, default in zip(a.kwonlyargs, a.kw_defaults):
            parts.append(self.parameter(owner, arg.arg, default))
        if a.kwarg:
            parts.append("**%s: Any" % a.kwarg.arg)
        return ", ".join(parts)

    def parameter(self, owner, name, default):
        text = "%s: %s" % (name, self.names.of(owner, name, default))
        if default is None:
            return text
        return text + " = " + (ast.unparse(default) if isinstance(default, ast.Constant) else "...")

    def function(self, node, prefix=""):
        given = self.given.take(prefix + node.name)
        if given:
            return [] if given is self.done.get(prefix + node.name) else self.once(prefix + node.name, given)
        decorators = [ast.unparse(d).rpartition(".")[2] for d in node.decorator_list]
        kept = [d for d in decorators if d in ("property", "staticmethod", "classmethod", "setter")]
        indent = "    " if prefix else ""
        head = [indent + "@" + (node.name + ".setter" if d == "setter" else d) for d in kept]
        bound = bool(prefix) and "staticmethod" not in kept
        owner = prefix + node.name
        text = "def %s(%s) -> %s: ..." % (
            node.name,
            self.parameters(node, owner, bound),
            "None" if "setter" in kept else self.result(node, owner, decorators),
        )
        return head + [indent + text]

    def once(self, name, lines):
        self.done[name] = lines
        return lines

    # --- classes ---

    def attributes(self, cls, known):
        """Attributes that __init__ sets."""
        init = next((n for n in cls.body if isinstance(n, ast.FunctionDef) and n.name == "__init__"), None)
        if not init:
            return []
        a = init.args
        defaults = dict(zip([p.arg for p in reversed(a.args)], reversed(a.defaults)))
        defaults.update({p.arg: d for p, d in zip(a.kwonlyargs, a.kw_defaults) if d})
        parameters = {p.arg for p in a.args + a.kwonlyargs}
        found = {}
        for node in ast.walk(init):
            target = node.targets[0] if isinstance(node, ast.Assign) and len(node.targets) == 1 else None
            if (
                not isinstance(target, ast.Attribute)
                or ast.unparse(target.value) != "self"
                or target.attr in known
            ):
                continue
            value, type_ = node.value, None
            if isinstance(value, ast.Name) and value.id in parameters:
                type_ = self.names.of("%s.__init__" % cls.name, value.id, defaults.get(value.id))
            elif isinstance(value, ast.Constant) and value.value is not None:
                type_ = "_" + type(value.value).__name__
            elif isinstance(value, ast.Call) and ast.unparse(value.func) in ("Parameter", "Tensor"):
                type_ = ast.unparse(value.func)
            found.setdefault(target.attr, set()).add(type_ or "Any")
        return ["    %s: %s" % (n, "Any" if len(t) > 1 else min(t)) for n, t in found.items()]

    def named_tuple(self, name, call):
        """namedtuple("Name", fields) as a class."""
        fields = ast.literal_eval(call.args[1])
        fields = fields.split() if isinstance(fields, str) else fields
        return ["class %s(NamedTuple):" % name] + [
            "    %s: %s" % (f, self.names.of(name, f, None)) for f in fields
        ]

    def class_(self, node):
        before, kept = [], []
        for base in node.bases:
            if _is_named_tuple(base):
                kept.append(ast.Name("_%sFields" % node.name))
                before += self.named_tuple(kept[-1].id, base)
            elif not isinstance(base, ast.Call):
                kept.append(base)
        bases = [ast.unparse(b) for b in kept] + ["metaclass=" + ast.unparse(k.value) for k in node.keywords]
        lines, known = [], set()
        for name in self.given.members(node.name):
            lines += self.given.take("%s.%s" % (node.name, name))
            known.add(name)
        for member in node.body:
            if isinstance(member, ast.FunctionDef) and member.name not in self.given.members(node.name):
                lines += self.function(member, node.name + ".")
                known.add(member.name)
            elif isinstance(member, ast.Assign) and isinstance(member.targets[0], ast.Name):
                for target in member.targets:
                    if target.id not in known and target.id not in _NO_ATTRIBUTES:
                        enum = bases and bases[0].endswith("Enum")
                        text = "    %s = %s" % (target.id, ast.unparse(member.value)) if enum else None
                        lines.append(text or "    %s: %s" % (target.id, self.constant(member.value, known)))
                        known.add(target.id)
        lines += self.attributes(node, known)
        bases = [b + "[Any]" if b in ("list", "set") else b for b in bases]
        return before + ["class %s(%s):" % (node.name, ", ".join(bases))] + (lines or ["    ..."])

    def constant(self, value, known=()):
        if isinstance(value, ast.Constant) and type(value.value) in (bool, int, float, str):
            return "_" + type(value.value).__name__
        return "Callable[..., Any]" if isinstance(value, ast.Name) and value.id in known else "Any"

    # --- the module ---

    def either(self, name, plain, indexed, body):
        """The two forms of with_indices_or_not: what they give depends on return_indices."""
        lines = []
        for function, value in ((plain, "False"), (indexed, "True")):
            text = self.parameters(_definition(body, function), function, False)
            before, _, after = text.partition("return_indices: _bool")
            result, default = ("Tensor", " = False") if value == "False" else (_INDEXED, " = ...")
            form = "%sreturn_indices: Literal[%s]%s%s" % (
                before,
                value,
                default,
                after.removeprefix(" = False"),
            )
            lines += ["@overload", "def %s(%s) -> %s: ..." % (name, form, result)]
        return lines

    def pair(self, node):
        """public, indexed = make(...), where make ends in with_indices_or_not(plain, indexed)."""
        maker = _definition(self.tree.body, getattr(getattr(node.value, "func", None), "id", None))
        plain, indexed = (_definition(maker.body, n) for n in ("plain", "indexed")) if maker else (None, None)
        if not plain or not indexed:
            return []
        public, other = (t.id for t in node.targets[0].elts)
        text = self.parameters(indexed, other, False)
        return self.either(public, "plain", "indexed", maker.body) + [
            "def %s(%s) -> %s: ..." % (other, text, _INDEXED)
        ]

    def assignment(self, node):
        lines = []
        if isinstance(node.targets[0], ast.Tuple):
            return self.pair(node)
        for target in node.targets:
            if (
                not isinstance(target, ast.Name)
                or target.id in self.given.definitions
                or target.id in self.assigned
            ):
                continue
            self.assigned.add(target.id)
            text = ast.unparse(node.value)
            if text.startswith("_C._") and isinstance(node.value, ast.Attribute):
                self.spaces[target.id] = node.value.attr
            space, _, name = text.rpartition(".")
            if self.spaces.get(space) and isinstance(node.value, ast.Attribute):
                lines += self.functions_of(self.spaces[space], name, target.id)
            elif _is_named_tuple(node.value):
                lines += self.named_tuple(target.id, node.value)
            elif text.startswith("with_indices_or_not("):
                lines += self.either(target.id, *(a.id for a in node.value.args[:2]), self.tree.body)
            elif isinstance(node.value, ast.Name) and (
                node.value.id in self.defined or node.value.id in self.imported
            ):
                lines.append("%s = %s" % (target.id, node.value.id))
            elif (
                re.match(r"_\w+\((\w+)\)$", text) and node.value.args[0].id in self.defined
            ):  # f = _decorated(f_)
                lines.append("%s = %s" % (target.id, node.value.args[0].id))
            elif text.startswith("_C.") and isinstance(node.value, ast.Attribute):
                lines.append("%s = %s" % (target.id, text))
            elif target.id not in self.defined and target.id != "__all__":
                lines.append("%s: %s" % (target.id, self.constant(node.value)))
        return lines

    def imports(self, node):
        if isinstance(node, ast.Import):
            return [ast.unparse(node)]
        if node.module == "__future__":
            return []
        names = [a for a in node.names if a.name != "__all__"]
        self.imported |= {a.asname or a.name for a in names}
        lines = []
        for a in names:
            again = "" if a.name == "*" else " as " + a.name
            lines.append("from %s import %s%s" % (node.module, a.name, again))
            if a.asname and a.asname != a.name:  # only an import under its own name is seen from outside
                lines.append("%s = %s" % (a.asname, a.name))
        return lines

    def statements(self):
        for node in self.tree.body:
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                yield from self.imports(node)
            elif isinstance(node, ast.FunctionDef):
                if node.name not in ("__getattr__", "__dir__") and node.name not in RESERVED:
                    yield from self.function(node)
            elif isinstance(node, ast.ClassDef):
                yield from self.class_(node)
            elif isinstance(node, ast.Assign):
                yield from self.assignment(node)

    def from_loops(self):
        for namespace, names in loops(self.tree):
            space = self.spaces.get(namespace) or namespace.rpartition(".")[2]
            for name in names:
                if space == "_C":
                    yield "from minitorch._C import %s as %s" % (name, name)
                elif name not in self.given.definitions:
                    yield from self.functions_of(space, name, name)

    def lazy_names(self):
        found = lazy(self.tree, self.module)
        for name, (module, whole) in sorted(found.items()):
            if name in self.given.definitions or name in self.imported:
                continue
            if whole:
                yield "from %s import %s as %s" % (*module.rpartition(".")[::2], name)
            else:
                yield "from %s import %s as %s" % (module, name, name)
        has = any(isinstance(n, ast.FunctionDef) and n.name == "__getattr__" for n in self.tree.body)
        if has and not found and "__getattr__" not in self.given.definitions:
            yield "def __getattr__(name: _str) -> Any: ..."

    def text(self, extra=()):
        self.done, self.imported, self.assigned = {}, set(), set()
        body = list(self.statements()) + list(self.from_loops()) + list(self.lazy_names()) + list(extra)
        for name, lines in self.given.definitions.items():
            if "." not in name and name not in self.done:
                body += lines
        imports = [
            "from %s import %s as %s" % (self.classes[n], n, n) for n in sorted(self.needed - self.imported)
        ]
        types = (
            TYPES_OF_C.replace(IMPORT_TENSOR, "") if "Tensor" in self.defined | self.imported else TYPES_OF_C
        )
        return HEAD % "stub_modules.py" + types + "\n".join(imports + self.given.rest + body) + "\n"


def find(package):
    """{module: path} of the package, without its programs."""
    found = {}
    for folder, folders, files in os.walk(package):
        folders[:] = sorted(d for d in folders if d not in ("demo", "__pycache__"))
        for name in sorted(files):
            if name.endswith(".py") and name != "__main__.py":
                path = os.path.join(folder, name)
                parts = os.path.relpath(path, os.path.dirname(package))[:-3].split(os.sep)
                found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def classes_of(modules):
    """{name: module} of the public classes."""
    found = {}
    for module, path in modules.items():
        with open(path, encoding="utf-8") as f:
            for node in ast.parse(f.read(), path).body:
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    found.setdefault(node.name, module)
    return found
