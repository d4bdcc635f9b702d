"""adapters.c: the kernel slots of ops with a function of their own.

An adapter unpacks the frame and calls it.
"""

from ctypes_map import RESULT_TYPES, getter, out_names, result_kind
from emit_ops import dtype_mask
from inplace import in_place_expr
from model import SHELL_DTYPES

HEAD = """#include "core/dispatch.h"
#include "core/frame.h"

#include "ops.h"
#include "tables.h"

/* META of every op with a meta rule: shapes and dtypes only. */
int mt_adapt_meta(mt_call *call)
{
    int rc = -1;

    MT_TRY(call->op->meta(call));
    rc = mt_out_finish(call);
fail:
    return rc;
}

/* The kernel for the device of the frame; NULL: none is written. */
static inline mt_any_fn *kernel_for(const mt_call *call, mt_any_fn *cpu)
{
    return MT_LIKELY(!(call->keys & MT_KEY_BIT(MT_KEY_CUDA))) ? cpu : mt_cuda_kernels[call->op->id];
}

"""
TAKE_LIST = """/* The outputs become the elements of the list. */
static int take_list(mt_call *call, mt_tensor_list *list)
{
    int rc = -1;

    MT_TRY(mt_call_set_list(call, list->n));
    for (int k = 0; k < list->n; k++)
        call->out[k] = mt_tensor_move(&list->data[k]);
    rc = 0;
fail:
    mt_tensor_list_clear(list);
    return rc;
}

"""


HOST_OUTPUT = """/* A factory without a kernel for the device of its output works in host memory, and the result is copied. */
static int host_output(mt_tensor **host, const mt_call *call)
{
    const mt_tensor *out = call->out[0];

    if (MT_LIKELY(out->device.type != MT_DEVICE_CUDA) || mt_cuda_kernels[call->op->id])
        return 0;
    return mt_tensor_new(host, (mt_dtype)out->dtype, out->ndim, out->size, MT_CPU);
}

static int assign_host(mt_call *call, mt_tensor *host)
{
    return MT_LIKELY(!host) ? 0 : mt_tensor_assign(call->out[0], host);
}

"""


def _args(entry, replaced=()):
    replaced = dict(replaced)
    return [replaced.get(i) or getter(a.type, "&call->arg[%d]" % i) for i, a in enumerate(entry.schema.args)]


def function(name, body, fallible=True, locals_=(), cleanup=()):
    lines = ["int %s(mt_call *call)" % name, "{"] + ["    " + d for d in locals_]
    if fallible:
        lines += ["    int rc = -1;", ""] + ["    " + b for b in body] + ["fail:"]
        lines += ["    " + c for c in cleanup] + ["    return rc;", "}", ""]
    else:
        lines += ([""] if locals_ else []) + ["    " + b for b in body] + ["}", ""]
    return "\n".join(lines)


def checks(entry):
    return ["MT_TRY(mt_check_%s(call));" % rule for rule in entry.check]


def checked_kind(entry):
    shared = "mt_reduce_kernel" if entry.kind == "reduce" else "mt_pointwise_kernel"
    out = []
    for suffix, kernel in (("", shared), ("_meta", "mt_adapt_meta")):
        out.append(
            function(
                "mt_adapt_%s%s" % (entry.c, suffix),
                checks(entry) + ["rc = %s(call);" % kernel],
            )
        )
    return "\n".join(out)


def kernel_adapter(entry, checked):
    kind = result_kind(entry.schema)
    if entry.factory:
        body = ["if (!kernel)", "    kernel = mt_cpu_%s;" % entry.kernel]
    else:
        body = ["if (!kernel)", "    return mt_no_impl_kernel(call);"]
    body += checks(entry) if checked else []
    if any(a.type.base == "Tensor" for a in entry.schema.args):
        shells = [d for d in entry.dtypes if d in SHELL_DTYPES]
        body.append("if (MT_UNLIKELY(call->keys & MT_KEYS_SHELL))")
        body.append("    MT_TRY(mt_meta_refuse_shells(call, %s));" % dtype_mask(shells))
    body += ["MT_TRY(call->op->meta(call));"] if entry.meta else []
    kernel = "mt_kernel_" + entry.kernel
    locals_ = [
        "%s *kernel = (%s *)kernel_for(call, (mt_any_fn *)mt_cpu_%s);" % (kernel, kernel, entry.kernel)
    ]
    cleanup, replaced = [], {}
    for i in entry.contiguous:
        name = "c%d" % i
        locals_.append("mt_tensor *%s = NULL;" % name)
        cleanup.append("mt_tensor_clear(&%s);" % name)
        body.append("MT_TRY(mt_arg_contiguous(&%s, mt_arg_tensor(&call->arg[%d])));" % (name, i))
        replaced[i] = name
    if entry.only_inplace:
        replaced[0] = "call->out[0]"
    args = _args(entry, replaced.items())
    if kind == "value":
        locals_.insert(0, "%svalue = %s;" % _value_local(entry))
        body.append("MT_TRY(kernel(%s));" % ", ".join(["&value"] + args))
        body += _set_result(entry) + ["rc = 0;"]
    else:
        outs = {
            "list": ["(mt_tensors){call->out, call->n_outs}"],
            "tensors": ["call->out[%d]" % k for k in range(len(entry.schema.returns))],
        }[kind]
        outs = [] if entry.only_inplace else outs
        if entry.factory:
            locals_.append("mt_tensor *host = NULL;")
            cleanup.append("mt_tensor_clear(&host);")
            body.append("MT_TRY(host_output(&host, call));")
            outs = ["host ? host : call->out[0]"]
        body.append("MT_TRY(kernel(%s));" % ", ".join(outs + args))
        body += ["MT_TRY(assign_host(call, host));"] if entry.factory else []
        body.append("rc = mt_out_finish(call);")
    text = function("mt_adapt_" + entry.c, body, True, locals_, cleanup)
    if checked and entry.meta:
        text += "\n" + function(
            "mt_adapt_%s_meta" % entry.c,
            checks(entry) + ["rc = mt_adapt_meta(call);"],
        )
    return text


def _value_local(entry):
    c_type = RESULT_TYPES[entry.schema.returns[0][0].base][0]
    return c_type, {"mt_scalar ": "{0}", "mt_dtype ": "MT_DTYPE_NONE"}.get(c_type, "0")


def _set_result(entry):
    _, kind, field = RESULT_TYPES[entry.schema.returns[0][0].base]
    return [
        "call->result.kind = MT_ARG_%s;" % kind,
        "call->result.v.%s = value;" % field,
        "call->has_result = true;",
    ]


def guarded(name, guards, call):
    """An adapter that is one call."""
    if guards:
        return function(name, guards + ["rc = %s;" % call])
    return function(name, ["return %s;" % call], False)


def composite_guards(entry, checked):
    """What runs in front of a composite."""
    lines = checks(entry) if checked else []
    if entry.dtypes and not entry.view:
        lines.append("MT_TRY(mt_meta_require_dtypes(call, %s));" % dtype_mask(entry.dtypes))
    return lines


def composite_adapter(entry, checked, catalog):
    """expr, impl and view."""
    guards = composite_guards(entry, checked)
    target = (
        "mt_expr_" + entry.c
        if entry.expr
        else ("mt_impl_" + entry.impl if entry.impl else "mt_view_" + entry.view)
    )
    kind, name = result_kind(entry.schema), "mt_adapt_" + entry.c
    args, outs = _args(entry), out_names(entry.schema)
    if entry.only_inplace:
        args[0] = "call->out[0]"
        return guarded(name, guards, "%s(%s)" % (target, ", ".join(args)))
    if kind == "value":
        return function(
            name,
            guards
            + ["MT_TRY(%s(%s));" % (target, ", ".join(["&value"] + args))]
            + _set_result(entry)
            + ["rc = 0;"],
            True,
            ["%svalue = %s;" % _value_local(entry)],
        )
    if kind == "list":
        return function(
            name,
            guards
            + ["MT_TRY(%s(%s));" % (target, ", ".join(["&list"] + args)), "rc = take_list(call, &list);"],
            True,
            ["mt_tensor_list list = {NULL, 0};"],
            ["mt_tensor_list_clear(&list);"],
        )
    direct = "%s(%s)" % (target, ", ".join(["&call->out[%d]" % k for k in range(len(outs))] + args))
    if not (entry.inplace_ok or entry.out_ok):
        return guarded(name, guards, direct)
    locals_ = ["mt_tensor *%s = NULL;" % o for o in outs]
    cleanup = ["mt_tensor_clear(&%s);" % o for o in outs]
    body = guards + [
        "if (call->variant == MT_VARIANT_FUNCTION)",
        "    return %s;" % direct,
    ]
    if entry.factory:
        places = entry.schema.arg_index("dtype"), entry.schema.arg_index("device")
        body.append("MT_TRY(mt_out_take_options(call, %d, %d));" % places)
    if in_place_expr(catalog, entry):
        body.append("if (call->variant == MT_VARIANT_INPLACE)")
        body.append("    return mt_expr_%s_inplace(%s);" % (entry.c, ", ".join(args)))
    elif entry.inplace_ok and entry.runs_parts and not entry.view:
        locals_.append("mt_tensor *before = NULL;")
        cleanup.append("mt_tensor_clear(&before);")
        body.append("MT_TRY(mt_out_before(&before, call));")
        args = ["before"] + args[1:]
    body.append("MT_TRY(%s(%s));" % (target, ", ".join(["&" + o for o in outs] + args)))
    if entry.view and entry.inplace_ok and not entry.out_ok:
        body.append("MT_TRY(mt_out_assign_view(call, out));")
    else:
        body += ["MT_TRY(mt_out_assign(call, %d, %s));" % (k, o) for k, o in enumerate(outs)]
    return function(name, body + ["rc = 0;"], True, locals_, cleanup)


def adapter(entry, plan, catalog):
    checked = plan.is_checked(entry)
    if entry.kind:
        return checked_kind(entry)
    if entry.kernel:
        return kernel_adapter(entry, checked)
    return composite_adapter(entry, checked, catalog)


def emit(writer, catalog, plan):
    parts = [
        "/* %s */\n%s" % (e.where, adapter(e, plan, catalog)) for e in catalog.entries if plan.has_adapter(e)
    ]
    body = "\n".join(parts)
    head = (
        HEAD + (HOST_OUTPUT if "host_output(" in body else "") + (TAKE_LIST if "take_list(" in body else "")
    )
    writer.add("adapters.c", "emit_adapters.py from the catalog", head + body)
