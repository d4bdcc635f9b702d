"""ops_api.c: the typed C API. Each function fills a frame, dispatches and moves the outputs."""

from ctypes_map import RESULT_TYPES, c_name, out_names, result_kind, setter
from emit_ops import api_prototypes

HEAD = """#include "core/dispatch.h"
#include "core/frame.h"

#include "ops.h"

static int run(mt_call *call, mt_tensor **out)
{
    if (mt_dispatch(call) < 0) {
        mt_call_clear(call);
        *out = NULL;
        return -1;
    }
    *out = mt_tensor_move(&call->out[0]);
    return 0;
}

/* in place and out=: outs[k] are the tensors written */
static int run_into(mt_call *call, mt_tensor *const *outs)
{
    int rc;

    for (int k = 0; k < call->n_outs; k++)
        call->out[k] = mt_tensor_ref(outs[k]);
    rc = mt_dispatch(call);
    mt_call_clear(call);
    return rc;
}

static int run_several(mt_call *call, mt_tensor **const *outs)
{
    int rc = mt_dispatch(call);

    for (int k = 0; k < call->n_outs; k++)
        *outs[k] = rc < 0 ? NULL : mt_tensor_move(&call->out[k]);
    mt_call_clear(call);
    return rc;
}

static int run_list(mt_call *call, mt_tensor_list *out)
{
    int rc = mt_dispatch(call);

    *out = (mt_tensor_list){NULL, 0};
    if (rc == 0)
        rc = mt_tensor_list_new(out, call->n_outs);
    for (int k = 0; rc == 0 && k < call->n_outs; k++)
        out->data[k] = mt_tensor_move(&call->out[k]);
    mt_call_clear(call);
    return rc;
}

"""


def body_of(entry, variant):
    s, kind = entry.schema, result_kind(entry.schema)
    lines = ["    mt_call call;"]
    if kind == "value":
        lines.append("    int rc;")
    lines += [
        "",
        "    mt_call_init(&call, &mt_op_table[%s], MT_VARIANT_%s);" % (entry.op_id, variant.upper()),
    ]
    lines += ["    %s;" % setter(a.type, "&call.arg[%d]" % i, c_name(a.name)) for i, a in enumerate(s.args)]
    if variant == "inplace":
        lines.append("    return run_into(&call, &%s);" % c_name(s.args[0].name))
    elif variant == "out":
        names = out_names(s)
        lines.append(
            "    return run_into(&call, %s);"
            % ("&out" if len(names) == 1 else "(mt_tensor *const[]){%s}" % ", ".join(names))
        )
    elif kind == "list":
        lines.append("    return run_list(&call, out);")
    elif kind == "value":
        c_type, _, field = RESULT_TYPES[s.returns[0][0].base]
        cast = "(mt_dtype)" if c_type.startswith("mt_dtype") else ""
        lines += [
            "    rc = mt_dispatch(&call);",
            "    if (rc == 0)",
            "        *out = %scall.result.v.%s;" % (cast, field),
            "    mt_call_clear(&call);",
            "    return rc;",
        ]
    elif len(s.returns) == 1:
        lines.append("    return run(&call, out);")
    elif not s.returns:
        lines.append("    return run_several(&call, NULL);")
    else:
        lines.append("    return run_several(&call, (mt_tensor **const[]){%s});" % ", ".join(out_names(s)))
    return "\n".join(lines)


def emit(writer, catalog):
    parts, used = [], ""
    for entry in catalog.entries:
        for declarator, variant in api_prototypes(entry):
            parts.append("/* %s */\n%s\n{\n%s\n}\n" % (entry.where, declarator, body_of(entry, variant)))
    used = "\n".join(parts)
    head = HEAD
    for name in ("run_several", "run_list", "run_into"):
        if name + "(&call" not in used:
            head = _without(head, name)
    writer.add("ops_api.c", "emit_api.py from the catalog", head + used)


def _without(head, name):
    """The head without one static helper that nothing calls."""
    blocks = head.split("\n}\n\n")
    return "\n}\n\n".join(b for b in blocks if "static int %s(" % name not in b)
