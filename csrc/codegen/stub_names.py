"""Names that a module makes by running: tables of where a lazy name lives, loops that fill globals()."""

import ast


def _is_known(node, known):
    return all(n.id in known or n.id in _made(node) for n in ast.walk(node) if isinstance(n, ast.Name))


def _made(node):
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}


BUILTINS = {"frozenset": frozenset, "set": set, "sorted": sorted, "tuple": tuple, "str": str}


def constants(tree):
    """{name: value} of the module's variables that follow from literals."""
    found = dict(BUILTINS, __builtins__={})
    for node in tree.body:
        if isinstance(node, (ast.Assign, ast.For)) and _is_known(node, found):
            exec(compile(ast.Module([node], []), "<stub>", "exec"), found)
    return found


def _target(call, guard, values, package):
    """What import_module(...) loads: (prefix, {name: rest of the module}, whether the name is the module itself)."""
    argument = call.args[0]
    listed = {n: n for n in values.get(guard, ())}
    if isinstance(argument, ast.Constant):
        return argument.value, dict.fromkeys(listed, ""), False
    if isinstance(argument.op, ast.Mod):  # "%s.%s" % (__name__, name)
        return package + ".", listed, True
    if isinstance(argument.right, ast.Subscript):
        return argument.left.value, values.get(argument.right.value.id, {}), False
    return argument.left.value, listed, True


def _calls(function):
    """Pairs of an import_module call and the table that `name` was found in before."""

    def inside(node):
        return (
            n
            for n in ast.walk(node)
            if isinstance(n, ast.Call) and ast.unparse(n.func).endswith("import_module")
        )

    def visit(statements, guard):
        for node in statements:
            if isinstance(node, ast.If):
                tables = [n.comparators[0] for n in ast.walk(node.test) if isinstance(n, ast.Compare)]
                name = next((t.id for t in tables if isinstance(t, ast.Name)), guard)
                yield from visit(node.body, name)
                yield from visit(node.orelse, guard)
            else:
                yield from ((call, guard) for call in inside(node))

    yield from visit(function.body, None)


def lazy(tree, package):
    """{name: (module, is it the module itself)}: what the module's __getattr__ finds."""
    function = next(
        (n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == "__getattr__"), None
    )
    if not function:
        return {}
    values, found = constants(tree), {}
    for call, guard in _calls(function):
        prefix, names, whole = _target(call, guard, values, package)
        for name in sorted(names):
            found.setdefault(name, (prefix + names[name], whole))
    return found


def loops(tree):
    """[(expression of a namespace, names)] of loops `globals()[_name] = getattr(namespace, _name)`."""
    for node in tree.body:
        if not isinstance(node, ast.For):
            continue
        for statement in ast.walk(node):
            if (
                isinstance(statement, ast.Assign)
                and ast.unparse(statement.targets[0]) == "globals()[_name]"
                and isinstance(statement.value, ast.Call)
                and ast.unparse(statement.value.func) == "getattr"
                and _is_known(node.iter, BUILTINS)
            ):
                names = eval(compile(ast.Expression(node.iter), "<stub>", "eval"), dict(BUILTINS))
                yield ast.unparse(statement.value.args[0]), list(names)
