/* SPDX-License-Identifier: BSD-3-Clause */
/* What PyTorch says when an op has no loop for a dtype. The rule is '"<op>_cpu" not implemented for
   'Bool''; the table holds the ops whose loop has another name and those that refuse a category of
   dtypes in words of their own. */
#include <string.h>

#include "ops/meta.h"

enum {
    BOOL = 1 << MT_CAT_BOOL,
    INT = 1 << MT_CAT_INT,
    FLOAT = 1 << MT_CAT_FLOAT,
    COMPLEX = 1 << MT_CAT_COMPLEX
};
enum { ANY = BOOL | INT | FLOAT | COMPLEX };

typedef struct refusal {
    const char *op;
    uint8_t categories;
    uint8_t kind;     /* mt_error_kind of `text`; 0: `text` is the name of the loop */
    const char *text; /* %s: the op */
} refusal;

static const refusal table[] = {
    {"addcmul", ANY, 0, "addcmul_cpu_out"},
    {"bitwise_left_shift", ANY, 0, "lshift_cpu"},
    {"bitwise_right_shift", ANY, 0, "rshift_cpu"},
    {"ceil", COMPLEX, MT_ERR_NOT_IMPLEMENTED, "%s is not supported for complex inputs"},
    {"ceil", ANY, 0, "ceil_vml_cpu"},
    {"clamp", COMPLEX, MT_ERR_NOT_IMPLEMENTED, "clamp is not supported for complex types"},
    {"clamp_max", COMPLEX, MT_ERR_NOT_IMPLEMENTED, "clamp is not supported for complex types"},
    {"clamp_min", COMPLEX, MT_ERR_NOT_IMPLEMENTED, "clamp is not supported for complex types"},
    {"_clamp_tensors", COMPLEX, MT_ERR_NOT_IMPLEMENTED, "clamp is not supported for complex types"},
    {"_clamp_tensors", ANY, 0, "clamp_cpu"},
    {"deg2rad", COMPLEX, MT_ERR_RUNTIME, "%s is not supported for complex tensors."},
    {"erf", ANY, 0, "erf_vml_cpu"},
    {"erfc", ANY, 0, "erfc_vml_cpu"},
    {"erfinv", ANY, 0, "erfinv_vml_cpu"},
    {"digamma", ANY, 0, "digamma"},
    {"floor", COMPLEX, MT_ERR_NOT_IMPLEMENTED, "%s is not supported for complex inputs"},
    {"floor", ANY, 0, "floor_vml_cpu"},
    {"floor_divide", ANY, 0, "div_floor_cpu"},
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
    {"pow", ANY, 0, "pow"},
    {"rad2deg", COMPLEX, MT_ERR_RUNTIME, "%s is not supported for complex tensors."},
    {"relu", BOOL, MT_ERR_RUNTIME, "Boolean inputs not supported for relu"},
    {"relu", COMPLEX, MT_ERR_NOT_IMPLEMENTED, "clamp is not supported for complex types"},
    {"round", ANY, 0, "round_vml_cpu"},
    {"sign", COMPLEX, MT_ERR_NOT_IMPLEMENTED,
     "Unlike NumPy, torch.sign is not intended to support complex numbers. Please use torch.sgn "
     "instead."},
    {"signbit", COMPLEX, MT_ERR_NOT_IMPLEMENTED, "%s is not implemented for complex tensors."},
    {"softshrink", ANY, 0, "softshrink_check"},
    {"trunc", COMPLEX, MT_ERR_NOT_IMPLEMENTED, "%s is not supported for complex inputs"},
    {"trunc", ANY, 0, "trunc_vml_cpu"},
    /* reductions */
    {"amax", ANY, 0, "max_values_cpu"},
    {"amin", ANY, 0, "min_values_cpu"},
    {"argmax", BOOL, MT_ERR_RUNTIME, "%s(): does not support bool input"},
    {"argmin", BOOL, MT_ERR_RUNTIME, "%s(): does not support bool input"},
    {"argmax", COMPLEX, MT_ERR_RUNTIME, "%s(): does not support complex input"},
    {"argmin", COMPLEX, MT_ERR_RUNTIME, "%s(): does not support complex input"},
    {"nansum", COMPLEX, MT_ERR_RUNTIME, "%s on CPU does not support complex inputs"},
};

/* The text with its one %s, if any, replaced. */
static void expand(char *out, size_t capacity, const char *text, const char *op)
{
    const char *hole = strstr(text, "%s");
    size_t head = hole ? (size_t)(hole - text) : strlen(text), used = 0;
    const char *parts[3] = {text, op, hole ? hole + 2 : ""};
    size_t lengths[3] = {head, hole ? strlen(op) : 0, strlen(parts[2])};

    for (int i = 0; i < 3; i++) {
        size_t n = lengths[i] < capacity - 1 - used ? lengths[i] : capacity - 1 - used;

        memcpy(out + used, parts[i], n);
        used += n;
    }
    out[used] = '\0';
}

int mt_meta_refuse_dtype(const mt_op *op, mt_dtype d)
{
    const char *legacy = mt_dtype_table[d].legacy;
    char text[256];

    for (size_t i = 0; i < MT_COUNTOF(table); i++) {
        const refusal *r = &table[i];

        if (strcmp(op->name, r->op) || !(r->categories >> mt_dtype_category(d) & 1))
            continue;
        if (r->kind == 0)
            return mt_error_set(MT_ERR_NOT_IMPLEMENTED, "\"%s\" not implemented for '%s'", r->text,
                                legacy);
        expand(text, sizeof(text), r->text, op->name);
        return mt_error_set((mt_error_kind)r->kind, "%s", text);
    }
    if (op->reduce && op->reduce->index_out && mt_dtype_is_complex(d))
        return mt_error_set(MT_ERR_RUNTIME, "%s(): does not support complex input", op->name);
    return mt_error_set(MT_ERR_NOT_IMPLEMENTED, "\"%s%s\" not implemented for '%s'", op->name,
                        op->reduce && (strcmp(op->name, "max") == 0 || strcmp(op->name, "min") == 0)
                            ? "_all"
                            : "_cpu",
                        legacy);
}
