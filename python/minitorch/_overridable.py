# SPDX-License-Identifier: BSD-3-Clause
"""What can be overridden by `__torch_function__`: the sets and signatures behind `overrides`, computed on
first use from the compiled op table and the namespaces.

Overridable is a public function that asks for overrides: one of the op table, unless it makes a tensor from
nothing; one written in Python whose code contains the check; and every method and property of Tensor.  The
stand-ins for tests take their signatures from the schemas of the op table, or from the Python function.
"""

import inspect
import types
import warnings

import minitorch as torch
from minitorch import _C

# Flags of a row of the op table, as in core/op.h.
_RANDOM, _FACTORY, _UNLISTED, _STAND_IN = 64, 128, 65536, 131072

_cache = {}


def _cached(function):
    def get():
        if function not in _cache:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                _cache[function] = function()
        return _cache[function]

    return get


def _namespace(path):
    obj = torch
    for part in path.split(".") if path else ():
        obj = getattr(obj, part, None)
    return obj


# --- who asks for overrides ---


class _Asked(Exception):
    pass


@_cached
def _silent_slots():
    """The slots of Tensor that leave the override of an operand out, with whatever number of operands they take, as `__hash__`
    does.  They are called in a thread of their own, where no mode is active and nothing disabled."""
    import threading

    class Probe(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            raise _Asked

    def asks(slot, probe):
        for count in range(1, 4):
            try:
                slot(*[probe] * count)
            except _Asked:
                return True
            except Exception:  # another number of operands, or other ones
                continue
        return False

    def look():
        probe = torch.empty(0).as_subclass(Probe)
        slots = [m for m in vars(_C._TensorBase).values() if isinstance(m, types.WrapperDescriptorType)]
        silent.update(slot for slot in slots if not asks(slot, probe))

    silent = set()
    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    return silent


@_cached
def _op_functions():
    """{function object of the op table: (its rows, whether it takes out=)}"""
    records = _C._op_records()
    found = {}
    for space, kind, name, _, has_out, ids in _C._func_records():
        owner = _C._TensorBase if kind == "method" else getattr(_C, "_" + (space or "VariableFunctions"))
        function = getattr(owner, name, None)
        if function is not None:
            found[function] = [records[i] for i in ids], has_out
    return found


@_cached
def _op_rows():
    return {function: rows for function, (rows, _) in _op_functions().items()}


@_cached
def _with_out():
    return {function for function, (_, has_out) in _op_functions().items() if has_out}


def _lists_op(rows, name, is_method):
    if any(flags & _UNLISTED for _, _, _, flags, _, _ in rows) and (not is_method or name.startswith("_")):
        return False
    if is_method:
        return not any(flags & _FACTORY for _, _, _, flags, _, _ in rows)  # new_zeros and its like
    takes_tensors = all("Tensor" in schema.partition(") -> ")[0] for _, _, schema, _, _, _ in rows)
    return takes_tensors and not any(flags & _FACTORY and flags & _RANDOM for _, _, _, flags, _, _ in rows)


def asks(function):
    """Does a function written in Python contain the check, or is it made around one that does?"""
    if not isinstance(function, types.FunctionType):
        return function in _op_rows()
    names = function.__code__.co_names
    if "handle_torch_function" in names or "_override_as_given" in names:
        return True
    helpers = [function.__globals__.get(name) for name in names if name.startswith("_")]
    inside = [cell.cell_contents for cell in function.__closure__ or ()]
    return any(
        isinstance(other, types.FunctionType) and other is not function and asks(other)
        for other in [h for h in helpers if getattr(h, "__module__", None) == function.__module__] + inside
    )


def _is_overridable(function, name, is_method):
    if function in _op_rows():
        return _lists_op(_op_rows()[function], name, is_method)
    if isinstance(function, types.FunctionType):
        return asks(function) and not hasattr(function, "_unlisted")
    if isinstance(function, type):
        return "_listed" in vars(function)
    if not is_method or isinstance(function, (types.BuiltinFunctionType, types.MethodType)):
        return False
    if function in _silent_slots():
        return False
    return function not in _C._unlisted_methods()


def _public(name):
    return not name.startswith("_") and not name.endswith("_") and name[0].islower()


def _members(namespace):
    if namespace in (torch, torch.functional):
        return getattr(namespace, "__all__", None) or sorted(vars(namespace))
    return dir(namespace)


def namespaces():
    """The namespaces that are looked through: (their name in PyTorch, the object)."""
    named = [("torch", torch)]
    for path in ("functional", "nn.functional", "nn.init", "Tensor", "linalg", "fft", "special"):
        space = torch
        for part in path.split("."):
            space = getattr(space, part)
        named.append(("torch." + path, space))
    return named


def _of_object(name, function):
    return getattr(object, name, None) == function or name in (
        "__weakref__",
        "__module__",
        "__dict__",
        "__doc__",
        "__buffer__",  # Python's own face of the buffer protocol, from 3.12 on
        "__release_buffer__",
    )


def _is_old_name(name):
    """Whether this is a name of Python 2, which stands for a newer one."""
    other = _C._TensorBase.__dict__.get(name)
    return name.startswith("__") and other is None and getattr(torch.Tensor, name).__name__ != name


@_cached
def _scan():
    """(overridable: {namespace or property: functions}, {function: dotted name}, ignored functions)"""
    functions, names, ignored = {}, {}, set()
    for prefix, namespace in namespaces():
        is_class = namespace is torch.Tensor
        for name in _members(namespace):
            function = getattr(namespace, name)
            dotted = "%s.%s" % (prefix, name)
            if is_class and _of_object(name, function):
                continue
            if not is_class and (name.startswith("__") or isinstance(function, types.ModuleType)):
                continue
            if type(function).__name__ == "_Feature":
                continue
            if callable(function):
                if is_class and _is_old_name(name):
                    names.setdefault(function, dotted)
                else:
                    names[function] = dotted
                if is_class or _public(name):
                    if _is_overridable(function, name, is_class):
                        functions.setdefault(namespace, []).append(function)
                    else:
                        ignored.add(function)
            elif hasattr(function, "__get__"):
                names[function.__get__] = dotted + ".__get__"
                names[function.__set__] = dotted + ".__set__"
                if is_class or _public(name):
                    functions.setdefault(function, []).append(function.__get__)
    listed = {function for group in functions.values() for function in group}
    return functions, names, ignored - listed


def ignored_functions():
    return _scan()[2]


def overridable_functions():
    """({namespace or property: functions}, {function: dotted name})"""
    return _scan()[:2]


@_cached
def nowrap_functions():
    cls = torch.Tensor
    return {cls._base.__get__, cls.grad.__get__, cls._grad.__get__}


@_cached
def tensor_methods():
    return set(overridable_functions()[0][torch.Tensor])


# --- stand-ins with the right signatures ---


def _split(text):
    """Splits at the commas that stand outside brackets and quotes."""
    parts = [""]
    depth = 0
    quoted = False
    for char in text:
        if char in "\"'":
            quoted = not quoted
        elif not quoted and char in "([":
            depth += 1
        elif not quoted and char in ")]":
            depth -= 1
        if char == "," and not depth and not quoted:
            parts.append("")
        else:
            parts[-1] += char
    return [part.strip() for part in parts if part.strip()]


def _default(text):
    if text in ("None", "True", "False") or text[0] in "\"'[" or text[0].isdigit() or text[0] == "-":
        return text
    return {"Mean": "1", "Sum": "2"}.get(text, "None")


def _parameters(schema, first):
    """Pairs of name and default (None: required) of a schema, the positional ones and those by keyword; the receiver is `first`."""
    body = schema[schema.index("(") + 1 : schema.rindex(")", 0, schema.rindex("->"))]
    found = positional, by_keyword = {}, {}
    current = positional
    for part in _split(body):
        if part == "*":
            current = by_keyword
            continue
        declared, equals, default = part.partition("=")
        name = declared.split()[-1]
        if "!" in declared and "out" in name and current is by_keyword:
            continue
        if name == "self":
            name = first
        elif name in ("from", "lambda"):
            name += "_"
        current[name] = _default(default) if equals else None
    return found


def _merged(schemas, first):
    """The parameter list, as Python source, that takes the arguments of every overload."""
    overloads = [_parameters(schema, first) for schema in schemas]
    positional, by_keyword = {}, {}
    for overload in overloads:
        for merged, names in zip((positional, by_keyword), overload):
            for name, default in names.items():
                merged[name] = merged.get(name) or default
    for name in positional:
        by_keyword.pop(name, None)
    # Where every overload needs something, by whatever name, the first one's name is needed.
    places = zip(*[list(o[0].items()) for o in overloads])
    needed = {place[0][0] for place in places if all(default is None for _, default in place)}
    for merged in (positional, by_keyword):
        for name, default in merged.items():
            if name in needed and merged is positional:
                continue
            if default is None and not all(name in o[0] or name in o[1] for o in overloads):
                merged[name] = "None"
    params, optional = [], False
    for name, default in positional.items():
        optional = optional or default is not None
        params.append("%s=%s" % (name, default or "None") if optional else name)
    if "beta" not in by_keyword:
        by_keyword.pop("alpha", None)  # as in PyTorch, the factor of add and sub does not show
    needed = [name for name, default in by_keyword.items() if default is None]
    params += ["%s=%s" % item for item in by_keyword.items() if item[1] is not None]
    return params + (["*"] + needed if needed else [])


def _stand_in(source):
    return eval(
        "lambda %s: -1" % source, {}
    )  # source is made from schemas and signatures, not from user text


def _from_schema(function, is_method):
    params = _merged([row[2] for row in _op_rows()[function]], "self" if is_method else "input")
    if function in _with_out():
        params.insert(params.index("*") if "*" in params else len(params), "out=None")
    return _stand_in(", ".join(params))


def _from_signature(function):
    """A function with the parameters and defaults of `function`; None when Python cannot tell them."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return None
    source = []
    starred = slash = False
    scope = {}
    for index, param in enumerate(signature.parameters.values()):
        if param.kind is param.POSITIONAL_ONLY:
            slash = True
        elif slash:
            source.append("/")
            slash = False
        text = param.name
        if param.kind is param.VAR_POSITIONAL:
            text = "*" + text
            starred = True
        elif param.kind is param.VAR_KEYWORD:
            text = "**" + text
        elif param.kind is param.KEYWORD_ONLY and not starred:
            source.append("*")
            starred = True
        if param.default is not param.empty:
            scope["default%d" % index] = param.default
            text += "=default%d" % index
        source.append(text)
    if slash:
        source.append("/")
    return eval("lambda %s: -1" % ", ".join(source), scope)


def _override_for(function, is_method):
    if isinstance(function, types.WrapperDescriptorType):
        return _stand_in(", ".join(_operands(function)))
    made = _from_schema(function, is_method) if function in _op_rows() else _from_signature(function)
    if made is None:
        made = _stand_in("self, *args, **kwargs" if is_method else "*args, **kwargs")
    return made


def _operands(slot):
    """The parameters of a slot that must be given, the second operand by PyTorch's name."""
    names = [p.name for p in inspect.signature(slot).parameters.values() if p.default is p.empty]
    return ["self", "other"] if len(names) == 2 else names


def _required(function):
    return sum(p.default is p.empty for p in inspect.signature(function).parameters.values())


def _extend(table):
    """The methods and operators that go by the name of a function have its stand-in, but for namesakes like __complex__, which take
    less."""
    for function in overridable_functions()[0][torch]:
        name = getattr(function, "__name__", "")
        names = [name, name + "_", "__%s__" % name, "__i%s__" % name, "__r%s__" % name]
        if name.startswith("bitwise_"):
            short = name.partition("_")[2]
            names += ["__%s__" % short, "__i%s__" % short, "__r%s__" % short]
        for method in [getattr(torch.Tensor, other, None) for other in names]:
            if (
                method not in table
                or method.__name__ not in names
                or getattr(torch, name, None) is not function
            ):
                continue
            if _required(table[method]) >= _required(table[function]):
                table[method] = table[function]


@_cached
def testing_overrides():
    table = {}
    for namespace, functions in overridable_functions()[0].items():
        is_method = namespace is torch.Tensor
        for function in functions:
            if isinstance(function, type):
                continue
            if not is_method and not isinstance(namespace, types.ModuleType):
                table[function] = _stand_in("self")  # the getter of a property
            elif function not in table:
                table[function] = _override_for(function, is_method)
    _extend(table)
    for function, rows in _op_rows().items():
        if any(flags & _STAND_IN for _, _, _, flags, _, _ in rows):
            table[function] = _override_for(function, False)
    for function in vars(torch.nn.init).values():
        if isinstance(function, types.FunctionType) and _is_overridable(function, function.__name__, False):
            table[function] = _override_for(function, False)
    return table
