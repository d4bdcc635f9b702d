/* SPDX-License-Identifier: BSD-3-Clause */
/* Shapes and dtypes of products: mm, bmm, mv, dot and the forms that add. Nothing is promoted: all operands have one
   dtype, and so has out=. Results are contiguous. */
#include "base/strbuf.h"
#include "core/frame.h"
#include "ops/meta.h"

/* --- words --- */

/* Bools cannot be multiplied, unless there is nothing to multiply: then the product is empty or zero. */
static bool is_refused(const mt_tensor *a, const mt_tensor *b)
{
    return a->dtype == MT_DTYPE_b8 && a->numel > 0 && b->numel > 0;
}

static MT_COLD int not_implemented(const char *name, const mt_tensor *t)
{
    return mt_error_set(MT_ERR_NOT_IMPLEMENTED, "\"%s\" not implemented for '%s'", name,
                        mt_dtype_table[t->dtype].legacy);
}

static MT_COLD int shapes_differ(const mt_tensor *a, const mt_tensor *b)
{
    return mt_error_set(MT_ERR_RUNTIME, "mat1 and mat2 shapes cannot be multiplied (%lldx%lld and %lldx%lld)",
                        (long long)a->size[0], (long long)a->size[1], (long long)b->size[0], (long long)b->size[1]);
}

/* self must expand to the output: the words of expand(). */
static int check_addend(const mt_tensor *self, int ndim, const int64_t *size)
{
    mt_shape_text a, b;

    if (self->ndim > ndim)
        return mt_error_set(MT_ERR_RUNTIME,
                            "expand(torch.%sTensor{%s}, size=%s): the number of sizes provided (%d) must be greater or "
                            "equal to the number of dimensions in the tensor (%d)",
                            mt_dtype_table[self->dtype].legacy, mt_shape_format(&a, self->size, self->ndim),
                            mt_shape_format(&b, size, ndim), ndim, self->ndim);
    for (int i = 0; i < self->ndim; i++) {
        int at = ndim - self->ndim + i;

        if (self->size[i] != size[at] && self->size[i] != 1)
            return mt_error_set(MT_ERR_RUNTIME,
                                "The expanded size of the tensor (%lld) must match the existing size (%lld) at "
                                "non-singleton dimension %d.  Target sizes: %s.  Tensor sizes: %s",
                                (long long)size[at], (long long)self->size[i], at, mt_shape_format(&a, size, ndim),
                                mt_shape_format(&b, self->size, self->ndim));
    }
    return 0;
}

/* --- the output --- */

/* May the output be written while the addend (argument 0) is read? When it is the same tensor, element by element, and the
   factors lie elsewhere. */
static bool can_alias(const mt_call *call, const mt_tensor *addend)
{
    const mt_tensor *out = call->out[0];

    for (int i = 0; i < call->n_args; i++) {
        const mt_tensor *t = call->arg[i].kind == MT_ARG_TENSOR ? call->arg[i].v.tensor : NULL;

        if (t && t->storage == out->storage && (t != addend || mt_overlap_between(out, t) != MT_OVERLAP_FULL))
            return false;
    }
    return true;
}

static int prepare(mt_call *call, const mt_tensor *addend, mt_dtype dtype, int ndim, const int64_t *size)
{
    mt_tensor *out = call->out[0];
    mt_device device;

    if (mt_meta_common_device(&device, call) < 0)
        return -1;
    if (MT_LIKELY(!out))
        return mt_out_prepare(call, 0, dtype, ndim, size, NULL, device, false);
    if (out->dtype != (uint8_t)dtype)
        return mt_error_set(MT_ERR_RUNTIME, "Expected out tensor to have dtype %s, but got %s instead",
                            mt_dtype_element((mt_dtype)dtype), mt_dtype_element((mt_dtype)out->dtype));
    if (call->variant == MT_VARIANT_INPLACE && !mt_shape_equal(ndim, size, out->ndim, out->size)) {
        mt_shape_text a, b;

        return mt_error_set(MT_ERR_RUNTIME,
                            "Bad in-place call: input tensor size %s and output tensor size %s should match",
                            mt_shape_format(&a, out->size, out->ndim), mt_shape_format(&b, size, ndim));
    }
    return mt_out_prepare(call, 0, dtype, ndim, size, NULL, device, can_alias(call, addend));
}

/* --- matrices --- */

int mt_meta_mm(mt_call *call)
{
    const mt_tensor *a = mt_arg_tensor(&call->arg[0]), *b = mt_arg_tensor(&call->arg[1]);
    int rc = -1;

    MT_REQUIRE(a->ndim == 2, MT_ERR_RUNTIME, "self must be a matrix");
    MT_REQUIRE(b->ndim == 2, MT_ERR_RUNTIME, "mat2 must be a matrix");
    if (a->size[1] != b->size[0])
        return shapes_differ(a, b);
    MT_REQUIRE(a->dtype == b->dtype, MT_ERR_RUNTIME, "expected m1 and m2 to have the same dtype, but got: %s != %s",
               mt_dtype_element((mt_dtype)a->dtype), mt_dtype_element((mt_dtype)b->dtype));
    if (is_refused(a, b))
        return not_implemented("addmm_impl_cpu_", a);
    rc = prepare(call, NULL, (mt_dtype)a->dtype, 2, (const int64_t[]){a->size[0], b->size[1]});
fail:
    return rc;
}

int mt_meta_addmm(mt_call *call)
{
    const mt_tensor *self = mt_arg_tensor(&call->arg[0]), *a = mt_arg_tensor(&call->arg[1]),
                    *b = mt_arg_tensor(&call->arg[2]);
    int64_t size[2];
    int rc = -1;

    MT_REQUIRE(a->ndim == 2, MT_ERR_RUNTIME, "mat1 must be a matrix, got %d-D tensor", a->ndim);
    MT_REQUIRE(b->ndim == 2, MT_ERR_RUNTIME, "mat2 must be a matrix, got %d-D tensor", b->ndim);
    if (a->size[1] != b->size[0])
        return shapes_differ(a, b);
    MT_REQUIRE(self->dtype == b->dtype, MT_ERR_RUNTIME, "self and mat2 must have the same dtype, but got %s and %s",
               mt_dtype_table[self->dtype].legacy, mt_dtype_table[b->dtype].legacy);
    MT_REQUIRE(a->dtype == b->dtype, MT_ERR_RUNTIME, "mat1 and mat2 must have the same dtype, but got %s and %s",
               mt_dtype_table[a->dtype].legacy, mt_dtype_table[b->dtype].legacy);
    if (a->dtype == MT_DTYPE_b8 && a->size[0] && b->size[1])
        return not_implemented("addmm_impl_cpu_", a);
    size[0] = a->size[0];
    size[1] = b->size[1];
    if (call->variant != MT_VARIANT_INPLACE)
        MT_TRY(check_addend(self, 2, size));
    rc = prepare(call, self, (mt_dtype)a->dtype, 2, size);
fail:
    return rc;
}

/* --- batches --- */

static int check_batches(const mt_tensor *a, const mt_tensor *b)
{
    int rc = -1;

    MT_REQUIRE(a->ndim == 3, MT_ERR_RUNTIME, "batch1 must be a 3D tensor");
    MT_REQUIRE(b->ndim == 3, MT_ERR_RUNTIME, "batch2 must be a 3D tensor");
    MT_REQUIRE(a->size[0] == b->size[0] && a->size[2] == b->size[1], MT_ERR_RUNTIME,
               "Expected size for first two dimensions of batch2 tensor to be: [%lld, %lld] but got: [%lld, %lld].",
               (long long)a->size[0], (long long)a->size[2], (long long)b->size[0], (long long)b->size[1]);
    rc = 0;
fail:
    return rc;
}

int mt_meta_bmm(mt_call *call)
{
    const mt_tensor *a = mt_arg_tensor(&call->arg[0]), *b = mt_arg_tensor(&call->arg[1]);

    if (check_batches(a, b) < 0 || mt_meta_same_dtype(a, b) < 0)
        return -1;
    if (is_refused(a, b))
        return not_implemented("bmm", a);
    return prepare(call, NULL, (mt_dtype)a->dtype, 3, (const int64_t[]){a->size[0], a->size[1], b->size[2]});
}

int mt_meta_baddbmm(mt_call *call)
{
    const mt_tensor *self = mt_arg_tensor(&call->arg[0]), *a = mt_arg_tensor(&call->arg[1]),
                    *b = mt_arg_tensor(&call->arg[2]);
    int64_t size[3];
    int rc = -1;

    MT_TRY(check_batches(a, b));
    MT_REQUIRE(self->dtype == a->dtype && a->dtype == b->dtype, MT_ERR_RUNTIME,
               "Input dtypes must be the same, got: input %s, batch1: %s, batch2: %s",
               mt_dtype_element((mt_dtype)self->dtype), mt_dtype_element((mt_dtype)a->dtype),
               mt_dtype_element((mt_dtype)b->dtype));
    if (a->dtype == MT_DTYPE_b8 && a->size[0] && a->size[1] && b->size[2])
        return not_implemented("baddbmm", a);
    size[0] = a->size[0];
    size[1] = a->size[1];
    size[2] = b->size[2];
    if (call->variant != MT_VARIANT_INPLACE)
        MT_TRY(check_addend(self, 3, size));
    rc = prepare(call, self, (mt_dtype)a->dtype, 3, size);
fail:
    return rc;
}

int mt_meta_addbmm(mt_call *call)
{
    const mt_tensor *self = mt_arg_tensor(&call->arg[0]), *a = mt_arg_tensor(&call->arg[1]),
                    *b = mt_arg_tensor(&call->arg[2]);
    int64_t size[2];
    int rc = -1;

    MT_REQUIRE(a->ndim == 3, MT_ERR_RUNTIME, "batch1 must be a 3D tensor");
    MT_REQUIRE(b->ndim == 3, MT_ERR_RUNTIME, "batch2 must be a 3D tensor");
    MT_REQUIRE(a->size[0] == b->size[0], MT_ERR_RUNTIME,
               "batch1 and batch2 must have same number of batches, got %lld and %lld", (long long)a->size[0],
               (long long)b->size[0]);
    MT_REQUIRE(a->size[2] == b->size[1], MT_ERR_RUNTIME, "Incompatible matrix sizes for bmm (%lldx%lld and %lldx%lld)",
               (long long)a->size[1], (long long)a->size[2], (long long)b->size[1], (long long)b->size[2]);
    size[0] = a->size[1];
    size[1] = b->size[2];
    MT_TRY(check_addend(self, 2, size));
    MT_REQUIRE(self->dtype == b->dtype, MT_ERR_RUNTIME, "self and mat2 must have the same dtype, but got %s and %s",
               mt_dtype_table[self->dtype].legacy, mt_dtype_table[b->dtype].legacy);
    MT_REQUIRE(a->dtype == b->dtype, MT_ERR_RUNTIME, "mat1 and mat2 must have the same dtype, but got %s and %s",
               mt_dtype_table[a->dtype].legacy, mt_dtype_table[b->dtype].legacy);
    if (a->dtype == MT_DTYPE_b8)
        return not_implemented("addmm_impl_cpu_", a);
    rc = prepare(call, self, (mt_dtype)a->dtype, 2, size);
fail:
    return rc;
}

/* --- vectors --- */

/* self: the addend, NULL for mv, whose words speak of the result in its place. */
static int check_vector(const mt_call *call, const mt_tensor *self, const mt_tensor *mat, const mt_tensor *vec)
{
    const mt_tensor *out = call->out[0];
    unsigned self_dtype = self ? self->dtype : out ? out->dtype : vec->dtype;
    int rc = -1;

    MT_REQUIRE(mat->ndim == 2 && vec->ndim == 1 && (!self || self->ndim <= 1), MT_ERR_RUNTIME,
               "vector + matrix @ vector expected, got %d, %d, %d", self ? self->ndim : 1, mat->ndim, vec->ndim);
    MT_REQUIRE(mat->size[1] == vec->size[0] && (!self || self->numel == mat->size[0] || self->numel == 1),
               MT_ERR_RUNTIME, "size mismatch, got input (%lld), mat (%lldx%lld), vec (%lld)",
               (long long)(self ? self->numel : mat->size[0]), (long long)mat->size[0], (long long)mat->size[1],
               (long long)vec->size[0]);
    MT_REQUIRE(self_dtype == mat->dtype && mat->dtype == vec->dtype, MT_ERR_RUNTIME,
               "addmv input tensors must have the same dtype, but got %s, %s, and %s",
               mt_dtype_table[self_dtype].legacy, mt_dtype_table[mat->dtype].legacy, mt_dtype_table[vec->dtype].legacy);
    if (is_refused(mat, vec) || (mat->dtype == MT_DTYPE_b8 && self && mat->size[0] > 0))
        return not_implemented("addmv_impl_cpu", mat);
    rc = 0;
fail:
    return rc;
}

int mt_meta_mv(mt_call *call)
{
    const mt_tensor *mat = mt_arg_tensor(&call->arg[0]), *vec = mt_arg_tensor(&call->arg[1]);

    if (check_vector(call, NULL, mat, vec) < 0)
        return -1;
    return prepare(call, NULL, (mt_dtype)mat->dtype, 1, mat->size);
}

int mt_meta_addmv(mt_call *call)
{
    const mt_tensor *self = mt_arg_tensor(&call->arg[0]), *mat = mt_arg_tensor(&call->arg[1]);

    if (check_vector(call, self, mat, mt_arg_tensor(&call->arg[2])) < 0)
        return -1;
    return prepare(call, self, (mt_dtype)mat->dtype, 1, mat->size);
}

static int dot_rule(mt_call *call)
{
    const mt_tensor *a = mt_arg_tensor(&call->arg[0]), *b = mt_arg_tensor(&call->arg[1]), *out = call->out[0];
    int rc = -1;

    MT_REQUIRE(a->ndim == 1 && b->ndim == 1, MT_ERR_RUNTIME, "1D tensors expected, but got %dD and %dD tensors",
               a->ndim, b->ndim);
    MT_REQUIRE(a->dtype == b->dtype, MT_ERR_RUNTIME,
               "dot : expected both vectors to have same dtype, but found %s and %s", mt_dtype_table[a->dtype].legacy,
               mt_dtype_table[b->dtype].legacy);
    MT_REQUIRE(
        a->numel == b->numel, MT_ERR_RUNTIME,
        "inconsistent tensor size, expected tensor [%lld] and src [%lld] to have the same number of elements, but "
        "got %lld and %lld elements respectively",
        (long long)a->numel, (long long)b->numel, (long long)a->numel, (long long)b->numel);
    if (a->dtype == MT_DTYPE_b8)
        return not_implemented("dot", a);
    MT_REQUIRE(!out || out->dtype == a->dtype, MT_ERR_RUNTIME, "result dtype %s does not match input dtype %s",
               mt_dtype_table[out->dtype].legacy, mt_dtype_table[a->dtype].legacy);
    rc = prepare(call, NULL, (mt_dtype)a->dtype, 0, NULL);
fail:
    return rc;
}

int mt_meta_dot(mt_call *call)
{
    return dot_rule(call);
}

int mt_meta_vdot(mt_call *call)
{
    return dot_rule(call);
}
