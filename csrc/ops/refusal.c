/* SPDX-License-Identifier: BSD-3-Clause */
/* What PyTorch says when an op has no loop for a dtype. The rule is '"<op>_cpu" not implemented for
   'Bool''; the table holds the ops whose loop has another name and those that refuse a category of
   dtypes in words of their own. */
#include <string.h>

#include "base/strbuf.h"
#include "ops/meta.h"

enum { BOOL = 1 << MT_CAT_BOOL, INT = 1 << MT_CAT_INT, FLOAT = 1 << MT_CAT_FLOAT, COMPLEX = 1 << MT_CAT_COMPLEX };
enum { ANY = BOOL | INT | FLOAT | COMPLEX };

typedef struct refusal {
    const char *op;
    uint8_t categories;
    uint8_t kind;     /* mt_error_kind of `text`; 0: `text` is the name of the loop */
    const char *text; /* %s: the op, %t: the dtype */
} refusal;

static const refusal table[] = {
    {"add", ANY, 0, "add_stub"},
    {"addcmul", ANY, 0, "addcmul_cpu_out"},
    {"bitwise_left_shift", ANY, 0, "lshift_cpu"},
    {"bitwise_right_shift", ANY, 0, "rshift_cpu"},
    {"ceil", COMPLEX, MT_ERR_NOT_IMPLEMENTED, "%s is not supported for complex inputs"},
    {"ceil", ANY, 0, "ceil_vml_cpu"},
    {"clamp", COMPLEX, MT_ERR_NOT_IMPLEMENTED, "clamp is not supported for complex types"},
    {"clamp_max", COMPLEX, MT_ERR_NOT_IMPLEMENTED, "clamp is not supported for complex types"},
    {"clamp_min", COMPLEX, MT_ERR_NOT_IMPLEMENTED, "clamp is not supported for complex types"},
    {"clamp_max", ANY, 0, "clamp_max_scalar_cpu"},
    {"clamp_min", ANY, 0, "clamp_min_scalar_cpu"},
    {"_clamp_tensors", COMPLEX, MT_ERR_NOT_IMPLEMENTED, "clamp is not supported for complex types"},
    {"_clamp_tensors", ANY, 0, "clamp_cpu"},
    {"deg2rad", COMPLEX, MT_ERR_RUNTIME, "%s is not supported for complex tensors."},
    {"erf", ANY, 0, "erf_vml_cpu"},
    {"erfc", ANY, 0, "erfc_vml_cpu"},
    {"erfinv", ANY, 0, "erfinv_vml_cpu"},
    {"digamma", ANY, 0, "%s"},
    {"floor", COMPLEX, MT_ERR_NOT_IMPLEMENTED, "%s is not supported for complex inputs"},
    {"floor", ANY, 0, "floor_vml_cpu"},
    {"floor_divide", ANY, 0, "div_floor_cpu"},
    {"fill_", ANY, 0, "fill_cpu"},
    {"fmax", COMPLEX, MT_ERR_RUNTIME, "%s not implemented for complex tensors."},
    {"fmin", COMPLEX, MT_ERR_RUNTIME, "%s not implemented for complex tensors."},
    {"gelu", ANY, 0, "GeluKernelImpl"},
    {"hardtanh", BOOL, MT_ERR_RUNTIME, "Bool inputs not supported for hardtanh"},
    {"hardtanh", COMPLEX, MT_ERR_NOT_IMPLEMENTED, "clamp is not supported for complex types"},
    {"heaviside", COMPLEX, MT_ERR_RUNTIME, "%s is not yet implemented for complex tensors."},
    {"i0", ANY, 0, "i0_vml_cpu"},
    {"isneginf", COMPLEX, MT_ERR_RUNTIME, "%s does not support complex inputs."},
    {"isposinf", COMPLEX, MT_ERR_RUNTIME, "%s does not support complex inputs."},
    {"lerp", ANY, 0, "lerp_kernel_tensor"},
    {"lgamma", ANY, 0, "lgamma_vml_cpu"},
    {"maximum", COMPLEX, MT_ERR_RUNTIME, "%s not implemented for complex tensors."},
    {"minimum", COMPLEX, MT_ERR_RUNTIME, "%s not implemented for complex tensors."},
    {"normal_", ANY, 0, "normal_kernel_cpu"},
    {"pow", ANY, 0, "%s"},
    {"random_", ANY, 0, "random_kernel_cpu"},
    {"rad2deg", COMPLEX, MT_ERR_RUNTIME, "%s is not supported for complex tensors."},
    {"relu", BOOL, MT_ERR_RUNTIME, "Boolean inputs not supported for relu"},
    {"relu", COMPLEX, MT_ERR_NOT_IMPLEMENTED, "clamp is not supported for complex types"},
    {"round", ANY, 0, "round_vml_cpu"},
    {"sign", COMPLEX, MT_ERR_NOT_IMPLEMENTED,
     "Unlike NumPy, torch.sign is not intended to support complex numbers. Please use torch.sgn "
     "instead."},
    {"signbit", COMPLEX, MT_ERR_NOT_IMPLEMENTED, "%s is not implemented for complex tensors."},
    {"softshrink", ANY, 0, "softshrink_check"},
    {"sub", ANY, 0, "add_stub"},
    {"sort", COMPLEX, MT_ERR_RUNTIME, "Sort does not support complex dtypes on CPU"},
    {"topk", COMPLEX, MT_ERR_RUNTIME, "topk does not support complex dtypes on CPU"},
    {"uniform_", ANY, 0, "check_uniform_bounds"},
    {"trunc", COMPLEX, MT_ERR_NOT_IMPLEMENTED, "%s is not supported for complex inputs"},
    {"trunc", ANY, 0, "trunc_vml_cpu"},
    {"trace", ANY, 0, "%s"},
    /* reductions */
    {"amax", ANY, 0, "max_values_cpu"},
    {"amin", ANY, 0, "min_values_cpu"},
    {"argmax", BOOL, MT_ERR_RUNTIME, "%s(): does not support bool input"},
    {"argmin", BOOL, MT_ERR_RUNTIME, "%s(): does not support bool input"},
    {"argmax", COMPLEX, MT_ERR_RUNTIME, "%s(): does not support complex input"},
    {"argmin", COMPLEX, MT_ERR_RUNTIME, "%s(): does not support complex input"},
    {"nansum", COMPLEX, MT_ERR_RUNTIME, "%s on CPU does not support complex inputs"},
    {"nanmean", BOOL | INT, MT_ERR_RUNTIME, "%s(): expected input to have floating point or complex dtype but got %t"},
    /* losses, padding, pooling */
    {"binary_cross_entropy", ANY, 0, "%s"},
    {"huber_loss", ANY, 0, "huber_cpu"},
    {"mse_loss", ANY, 0, "mse_cpu"},
    {"smooth_l1_loss", ANY, 0, "smooth_l1_cpu"},
    {"max_pool1d", ANY, 0, "max_pool1d_impl"},
    {"reflection_pad1d", ANY, 0, "%s"},
    {"reflection_pad2d", ANY, 0, "%s"},
    {"reflection_pad3d", ANY, 0, "%s"},
    {"replication_pad1d", ANY, 0, "%s"},
    {"replication_pad2d", ANY, 0, "%s"},
    {"replication_pad3d", ANY, 0, "%s"},
};

/* The text with its holes filled. */
static void expand(mt_strbuf *out, const char *text, const char *op, const char *dtype)
{
    for (; *text; text++) {
        if (*text != '%')
            mt_strbuf_append(out, text, 1);
        else
            mt_strbuf_puts(out, *++text == 's' ? op : dtype);
    }
}

static int refuse(const mt_op *op, const refusal *r, const char *dtype)
{
    mt_strbuf text = MT_STRBUF_INIT;
    int rc;

    expand(&text, r->text, op->name, dtype);
    rc = mt_strbuf_finish(&text);
    if (rc == 0 && r->kind == 0)
        rc = mt_error_set(MT_ERR_NOT_IMPLEMENTED, "\"%s\" not implemented for '%s'", text.data, dtype);
    else if (rc == 0)
        rc = mt_error_set((mt_error_kind)r->kind, "%s", text.data);
    mt_strbuf_clear(&text);
    return rc;
}

int mt_meta_refuse_dtype(const mt_op *op, mt_dtype d)
{
    const char *legacy = mt_dtype_table[d].legacy;
    bool is_extreme = op->reduce && (strcmp(op->name, "max") == 0 || strcmp(op->name, "min") == 0);

    for (size_t i = 0; i < MT_COUNTOF(table); i++)
        if (strcmp(op->name, table[i].op) == 0 && (table[i].categories >> mt_dtype_category(d) & 1))
            return refuse(op, &table[i], legacy);
    if (op->reduce && op->reduce->index_out && mt_dtype_is_complex(d))
        return mt_error_set(MT_ERR_RUNTIME, "%s(): does not support complex input", op->name);
    return mt_error_set(MT_ERR_NOT_IMPLEMENTED, "\"%s%s\" not implemented for '%s'", op->name,
                        is_extreme ? "_all" : "_cpu", legacy);
}
