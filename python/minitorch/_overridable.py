# SPDX-License-Identifier: BSD-3-Clause
"""What can be overridden by `__torch_function__`: the sets and signatures behind `overrides`, computed on
first use.

Overridable is everything public in the namespaces below that is not in the table of ignored names.  The
stand-ins for tests take their signatures from the schemas of the compiled op table, or from the Python
function.
"""

import inspect
import types
import warnings

import minitorch as torch
from minitorch import _C

# Public names that cannot be overridden: no tensor argument decides about them, or they make tensors from
# nothing.
_IGNORED = {
    "": """
        typename is_tensor is_storage _functional_sym_constrain_range _make_dep_token set_default_tensor_type
        set_default_device get_default_device set_rng_state get_rng_state manual_seed initial_seed seed save
        load set_printoptions fork get_default_dtype get_num_interop_threads get_num_threads init_num_threads
        import_ir_module import_ir_module_from_buffer is_anomaly_enabled is_anomaly_check_nan_enabled
        is_grad_enabled is_inference_mode_enabled merge_type_from_type_comment parse_ir parse_schema
        parse_type_comment set_anomaly_enabled set_flush_denormal set_num_interop_threads set_num_threads
        set_warn_always is_warn_always_enabled wait as_tensor from_numpy tensor default_generator device dtype
        finfo iinfo memory_format layout qscheme set_grad_enabled no_grad enable_grad inference_mode
        is_vulkan_available autocast_increment_nesting autocast_decrement_nesting clear_autocast_cache
        get_autocast_cpu_dtype get_autocast_dtype get_autocast_gpu_dtype get_autocast_ipu_dtype
        get_autocast_xla_dtype is_autocast_cache_enabled is_autocast_cpu_enabled is_autocast_enabled
        is_autocast_ipu_enabled is_autocast_xla_enabled set_autocast_cache_enabled set_autocast_cpu_dtype
        set_autocast_cpu_enabled set_autocast_dtype set_autocast_enabled set_autocast_gpu_dtype
        set_autocast_ipu_dtype set_autocast_ipu_enabled set_autocast_xla_dtype set_autocast_xla_enabled
        set_float32_matmul_precision get_float32_matmul_precision use_deterministic_algorithms
        are_deterministic_algorithms_enabled is_deterministic_algorithms_warn_only_enabled
        set_deterministic_debug_mode get_deterministic_debug_mode get_device_module arange asarray
        bartlett_window blackman_window broadcast_shapes can_cast compile cond cudnn_affine_grid_generator
        cudnn_batch_norm cudnn_convolution cudnn_convolution_transpose cudnn_convolution_relu
        cudnn_convolution_add_relu cudnn_grid_sampler cudnn_is_acceptable empty empty_permuted empty_strided
        empty_quantized eye fill from_file full frombuffer hamming_window hann_window kaiser_window linspace
        logspace mkldnn_adaptive_avg_pool2d mkldnn_convolution mkldnn_max_pool2d mkldnn_max_pool3d
        mkldnn_linear_backward_weights mkldnn_rnn_layer miopen_ctc_loss normal ones promote_types rand
        rand_like randn randn_like randint randint_like randperm range result_type scalar_tensor
        sparse_bsc_tensor sparse_bsr_tensor sparse_compressed_tensor sparse_coo_tensor sparse_csc_tensor
        sparse_csr_tensor sym_constrain_range sym_constrain_range_for_size sym_fresh_size
        thread_safe_generator tril_indices triu_indices unify_type_list vander vmap zeros as_strided
        set_default_dtype compiled_with_cxx11_abi from_dlpack to_dlpack
    """,
    "nn.functional": """
        upsample upsample_bilinear upsample_nearest has_torch_function has_torch_function_unary
        has_torch_function_variadic handle_torch_function sigmoid hardsigmoid tanh hardswish
        assert_int_or_pair boolean_dispatch grouped_mm scaled_mm scaled_grouped_mm _canonical_mask
        _none_or_dtype overridable
    """,
    "functional": """
        broadcast_shapes boolean_dispatch handle_torch_function has_torch_function has_torch_function_unary
        has_torch_function_variadic
    """,
    "nn.init": """
        calculate_gain uniform normal constant eye dirac xavier_uniform xavier_normal kaiming_uniform
        kaiming_normal orthogonal sparse
    """,
    "fft": "fftfreq rfftfreq",
    "Tensor": """
        __delitem__ __dir__ __getattribute__ __init__ __iter__ __init_subclass__ __delattr__ __setattr__
        __torch_function__ __torch_dispatch__ __new__ __class__ __subclasshook__ __hash__ as_subclass eig
        lstsq reinforce new new_tensor new_empty new_empty_strided new_zeros new_ones new_full _make_subclass
        solve symeig stride unflatten to_sparse_coo to_sparse_csr to_sparse_csc to_sparse_bsr to_sparse_bsc
        _to_sparse _to_sparse_csr _to_sparse_csc _to_sparse_bsr _to_sparse_bsc to_padded_tensor _typed_storage
        _reduce_ex_internal _fix_weakref _view_func _view_func_unsafe _rev_view_func_unsafe
        _make_wrapper_subclass _dtensor__new__ _neg_view _conj _conj_physical _is_zerotensor _lazy_clone
        _use_count _addmm_activation _is_all_true _is_any_true _philox_normal_ _philox_uniform_
    """,
}
_IGNORED_PROPERTIES = ("_has_symbolic_sizes_strides", "_python_dispatch")

# Namespace, and the functions in it that are overridable although their names end in an underscore.
_INIT_FUNCTIONS = ("uniform_", "normal_", "constant_", "kaiming_uniform_")
# In torch, but not in its list of public names.
_MORE_FUNCTIONS = ("_assert_async", "_functional_assert_async", "_native_batch_norm_legit", "segment_reduce")

# Methods without a schema of their own, by parameter list.
_METHODS = {
    "self": "__bool__ __complex__ __float__ __index__ __int__ __invert__ __long__ __nonzero__ _is_view "
    "const_data_ptr"
    " data_ptr ndimension nelement tolist untyped_storage",
    "self, other": "__idiv__ __ifloordiv__ __imod__ __ipow__ __mod__ __pow__ __ror__ __rxor__ __truediv__",
    "self, memory_format=None": "bfloat16 bool byte cdouble cfloat chalf char double float half int long "
    "short",
    "self, callable": "apply_",
    "self, tensor, callable": "map_",
    "self, x, y, callable": "map2_",
    "self, *, force=False": "numpy",
    "self, dtype=None, non_blocking=False, **kwargs": "type",
}

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


@_cached
def ignored_functions():
    found = set()
    for path, names in _IGNORED.items():
        namespace = _namespace(path)
        for name in names.split():
            function = getattr(namespace, name, None)
            if function is not None:
                found.add(function)
    for name in _IGNORED_PROPERTIES:
        found.add(getattr(getattr(torch.Tensor, name, None), "__get__", None))
    found.discard(None)
    return found


@_cached
def nowrap_functions():
    cls = torch.Tensor
    return {cls._base.__get__, cls.grad.__get__, cls._grad.__get__}


def _public(name):
    return not name.startswith("_") and not name.endswith("_") and name[0].islower()


def _members(namespace):
    if namespace in (torch, torch.functional):
        return getattr(namespace, "__all__", None) or sorted(vars(namespace))
    return dir(namespace)


@_cached
def overridable_functions():
    """({namespace or property: functions}, {function: dotted name})"""
    ignored = ignored_functions()
    functions = {}
    names = {}
    spaces = [("torch", torch, _members(torch))]
    for name in ("functional", "nn.functional", "nn.init", "Tensor", "linalg", "fft", "special"):
        space = _namespace(name)
        if space is not None:
            spaces.append(("torch." + name, space, _members(space)))
    for prefix, namespace, members in spaces:
        is_class = namespace is torch.Tensor
        for name in members:
            if name == "__weakref__" or (not is_class and (name.startswith("__") or name == "unique_dim")):
                continue
            function = getattr(namespace, name)
            if is_class and getattr(object, name, None) == function:
                continue
            if isinstance(function, types.ModuleType) or type(function).__name__ == "_Feature":
                continue
            wanted = is_class or _public(name)
            dotted = "%s.%s" % (prefix, name)
            if callable(function):
                names[function] = dotted
                if wanted and function not in ignored:
                    functions.setdefault(namespace, []).append(function)
            elif hasattr(function, "__get__"):
                names[function.__get__] = dotted + ".__get__"
                names[function.__set__] = dotted + ".__set__"
                if wanted and function.__get__ not in ignored:
                    functions.setdefault(function, []).append(function.__get__)
    return functions, names


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
    for merged in (positional, by_keyword):
        for name, default in merged.items():
            if default is None and not all(name in o[0] or name in o[1] for o in overloads):
                merged[name] = "None"
    params, optional = [], False
    for name, default in positional.items():
        optional = optional or default is not None
        params.append("%s=%s" % (name, default or "None") if optional else name)
    if by_keyword:
        params.append("*")
        params += ["%s=%s" % item if item[1] is not None else item[0] for item in by_keyword.items()]
    return params


@_cached
def _schemas():
    """{op name: its schemas in table order}"""
    table = {}
    for schema in (row[2] for row in _C._op_records()):
        name = schema[: schema.index("(")].rpartition("::")[2].partition(".")[0]
        table.setdefault(name, []).append(schema)
    return table


def _schemas_of(name):
    table = _schemas()
    bare = name.strip("_")
    candidates, start = [name, name.rstrip("_")], ""
    if name.startswith("__"):
        inner = bare[1:] if bare[:1] in ("i", "r") else bare
        candidates, start = [name, "bitwise_" + bare, "bitwise_" + inner, bare, inner], "(Tensor self"
    for candidate in candidates:
        found = [
            schema
            for schema in table.get(candidate, ())
            if "Tensor" in schema and start in schema.replace("(a!)", "")
        ]
        if found:
            return found
    return []


def _stand_in(source):
    return eval(
        "lambda %s: -1" % source, {}
    )  # source is made from schemas and signatures, not from user text


def _from_schema(function, is_method):
    schemas = _schemas_of(function.__name__)
    if not schemas:
        return None
    plain = [s for s in schemas if "!" not in s or s.partition("(")[0].endswith("_")]
    params = _merged(plain or schemas, "self" if is_method else "input")
    if not is_method and "out=None" in (function.__doc__ or "").partition("\n\n")[0]:
        params += ([] if "*" in params else ["*"]) + ["out=None"]
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
    made = None
    if is_method:
        for source, names in _METHODS.items():
            if function.__name__ in names.split():
                made = _stand_in(source)
    if made is None and isinstance(function, (types.FunctionType, types.MethodType)):
        made = _from_signature(function)
    elif made is None:
        made = _from_schema(function, is_method) or _from_signature(function)
    if made is None:
        made = _stand_in("self, *args, **kwargs" if is_method else "*args, **kwargs")
    return made


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
    for name in _INIT_FUNCTIONS:
        function = getattr(torch.nn.init, name)
        table[function] = _override_for(function, False)
    for name in _MORE_FUNCTIONS:
        function = getattr(torch, name)
        table[function] = _override_for(function, False)
    table[torch.autograd.grad] = _override_for(torch.autograd.grad, False)
    return table
