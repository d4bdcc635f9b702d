/* SPDX-License-Identifier: BSD-3-Clause */
/* The kernels of mm, bmm, mv, dot and the forms that add: tensors become operands of a product. Meta rules have
   checked shapes and dtypes; the addend may have any shape that expands to the output's. Storages are pinned while
   the interpreter lock may be away. */
#include "core/op.h"
#include "core/shape.h"
#include "cpu/matmul/gemm.h"
#include "cpu/matmul/product.h"

static const mt_scalar one = {MT_CAT_INT, 0, {1}}, zero = {MT_CAT_INT, 0, {0}};

/* --- operands --- */

static inline mt_operand operand(mt_tensor *t, int64_t batch, int64_t row, int64_t col)
{
    return (mt_operand){mt_tensor_mutable_data(t), batch, row, col};
}

/* Inputs are only read: no copy of shared memory is wanted. */
static inline mt_operand input(const mt_tensor *t, int64_t batch, int64_t row, int64_t col)
{
    return (mt_operand){(char *)(uintptr_t)mt_tensor_const_data(t), batch, row, col};
}

static inline mt_operand matrix(const mt_tensor *t)
{
    return input(t, 0, t->stride[0], t->stride[1]);
}

/* A dim of one element does not count, so that one matrix serves all. */
static inline mt_operand matrices(const mt_tensor *t)
{
    return input(t, t->size[0] == 1 ? 0 : t->stride[0], t->stride[1], t->stride[2]);
}

/* The strides of t, expanded to `ndim` dims of the sizes given. */
static mt_operand expanded(const mt_tensor *t, int ndim, const int64_t *size)
{
    int64_t stride[3] = {0, 0, 0};

    for (int i = 0; i < t->ndim && i < ndim; i++) {
        int at = t->ndim - 1 - i;

        stride[2 - i] = t->size[at] == 1 && size[ndim - 1 - i] != 1 ? 0 : t->stride[at];
    }
    return input(t, stride[0], stride[1], stride[2]);
}

/* --- running --- */

static int run(const mt_product *p, mt_tensor *const *tensors, int n)
{
    int rc;

    for (int i = 0; i < n; i++)
        mt_storage_pin(tensors[i]->storage);
    rc = mt_cpu_product(p);
    for (int i = 0; i < n; i++)
        mt_storage_unpin(tensors[i]->storage);
    return rc;
}

/* RuntimeError when a factor does not fit the dtype ("value cannot be converted to type float without overflow"). */
static int check_factors(mt_dtype dtype, mt_scalar beta, mt_scalar alpha)
{
    if (dtype == MT_DTYPE_f16 || dtype == MT_DTYPE_bf16) /* they stay unrounded */
        dtype = MT_DTYPE_f32;
    return mt_scalar_check(dtype, beta) < 0 || mt_scalar_check(dtype, alpha) < 0 ? -1 : 0;
}

/* What the factor is once it has the dtype: a fraction of an integer is lost. */
static mt_scalar as_dtype(mt_scalar s, mt_dtype dtype)
{
    return mt_dtype_is_integral(dtype, true) ? mt_scalar_from_int(mt_scalar_to_int(s)) : s;
}

static mt_product new_product(mt_dtype dtype, int64_t m, int64_t n, int64_t k)
{
    mt_product p = {.dtype = dtype, .n_batch = 1, .m = m, .n = n, .k = k, .alpha = one, .beta = zero};

    return p;
}

static int mm(mt_tensor *out, mt_tensor *self, mt_tensor *mat2)
{
    mt_tensor *tensors[] = {out, self, mat2};
    mt_product p = new_product((mt_dtype)self->dtype, self->size[0], mat2->size[1], self->size[1]);

    p.a = matrix(self);
    p.b = matrix(mat2);
    p.c = operand(out, 0, out->stride[0], out->stride[1]);
    return run(&p, tensors, 3);
}

/* float32 matrices small enough that nothing runs beside them; out has contiguous rows. */
static void small_mm(mt_tensor *out, const mt_tensor *self, const mt_tensor *mat2)
{
    mt_gemm g;

    g.m = self->size[0];
    g.n = mat2->size[1];
    g.k = self->size[1];
    g.a = mt_tensor_const_data(self);
    g.b = mt_tensor_const_data(mat2);
    g.c = mt_tensor_mutable_data(out);
    g.d = NULL;
    g.a_row = self->stride[0];
    g.a_col = self->stride[1];
    g.b_row = mat2->stride[0];
    g.b_col = mat2->stride[1];
    g.c_row = out->stride[0];
    g.c_col = 1;
    g.d_row = g.d_col = 0;
    g.alpha = 1;
    g.beta = 0;
    mt_gemm_f32(&g);
}

int mt_cpu_mm(mt_tensor *out, mt_tensor *self, mt_tensor *mat2)
{
    if (self->dtype == MT_DTYPE_f32 && (out->flags & MT_FLAG_CONTIGUOUS) && self->numel < 4096 && mat2->numel < 4096 &&
        out->numel < 4096) {
        small_mm(out, self, mat2);
        return 0;
    }
    return mm(out, self, mat2);
}

int mt_cpu_bmm(mt_tensor *out, mt_tensor *self, mt_tensor *mat2)
{
    mt_tensor *tensors[] = {out, self, mat2};
    mt_product p = new_product((mt_dtype)self->dtype, self->size[1], mat2->size[2], self->size[2]);

    p.n_batch = self->size[0];
    p.a = matrices(self);
    p.b = matrices(mat2);
    p.c = operand(out, out->stride[0], out->stride[1], out->stride[2]);
    return run(&p, tensors, 3);
}

int mt_cpu_mv(mt_tensor *out, mt_tensor *self, mt_tensor *vec)
{
    mt_tensor *tensors[] = {out, self, vec};
    mt_product p = new_product((mt_dtype)self->dtype, self->size[0], 1, self->size[1]);

    p.a = matrix(self);
    p.b = input(vec, 0, vec->stride[0], 1);
    p.c = operand(out, 0, out->stride[0], 1);
    return run(&p, tensors, 3);
}

static int dot(mt_tensor *out, mt_tensor *a, mt_tensor *b, bool conjugate_b)
{
    mt_tensor *tensors[] = {out, a, b};
    mt_product p = new_product((mt_dtype)a->dtype, 1, 1, a->size[0]);

    p.a = input(a, 0, 0, a->stride[0]);
    p.b = input(b, 0, b->stride[0], 1);
    p.c = operand(out, 0, 1, 1);
    p.conjugate_b = conjugate_b;
    return run(&p, tensors, 3);
}

int mt_cpu_dot(mt_tensor *out, mt_tensor *self, mt_tensor *tensor)
{
    return dot(out, self, tensor, false);
}

int mt_cpu_vdot(mt_tensor *out, mt_tensor *self, mt_tensor *other)
{
    return dot(out, other, self, true);
}

/* --- with an addend --- */

static int run_adding(mt_product *p, mt_tensor *out, mt_tensor *self, mt_tensor *a, mt_tensor *b, mt_scalar beta,
                      mt_scalar alpha)
{
    mt_tensor *tensors[] = {out, self, a, b};

    if (check_factors(p->dtype, beta, alpha) < 0)
        return -1;
    p->beta = as_dtype(beta, p->dtype);
    p->alpha = as_dtype(alpha, p->dtype);
    return run(p, tensors, 4);
}

int mt_cpu_addmm(mt_tensor *out, mt_tensor *self, mt_tensor *mat1, mt_tensor *mat2, mt_scalar beta, mt_scalar alpha)
{
    mt_product p = new_product((mt_dtype)mat1->dtype, mat1->size[0], mat2->size[1], mat1->size[1]);

    p.a = matrix(mat1);
    p.b = matrix(mat2);
    p.c = operand(out, 0, out->stride[0], out->stride[1]);
    p.d = expanded(self, 2, out->size);
    return run_adding(&p, out, self, mat1, mat2, beta, alpha);
}

int mt_cpu_addmv(mt_tensor *out, mt_tensor *self, mt_tensor *mat, mt_tensor *vec, mt_scalar beta, mt_scalar alpha)
{
    mt_product p = new_product((mt_dtype)mat->dtype, mat->size[0], 1, mat->size[1]);

    p.a = matrix(mat);
    p.b = input(vec, 0, vec->stride[0], 1);
    p.c = operand(out, 0, out->stride[0], 1);
    p.d = expanded(self, 1, out->size);
    p.d.row = p.d.col;
    p.d.col = 1;
    return run_adding(&p, out, self, mat, vec, beta, alpha);
}

int mt_cpu_baddbmm(mt_tensor *out, mt_tensor *self, mt_tensor *batch1, mt_tensor *batch2, mt_scalar beta,
                   mt_scalar alpha)
{
    mt_product p = new_product((mt_dtype)batch1->dtype, batch1->size[1], batch2->size[2], batch1->size[2]);

    p.n_batch = batch1->size[0];
    p.a = matrices(batch1);
    p.b = matrices(batch2);
    p.c = operand(out, out->stride[0], out->stride[1], out->stride[2]);
    p.d = expanded(self, 3, out->size);
    return run_adding(&p, out, self, batch1, batch2, beta, alpha);
}

/* An empty batch leaves beta D: a product without depth. */
int mt_cpu_addbmm(mt_tensor *out, mt_tensor *self, mt_tensor *batch1, mt_tensor *batch2, mt_scalar beta,
                  mt_scalar alpha)
{
    mt_product p = new_product((mt_dtype)batch1->dtype, batch1->size[1], batch2->size[2], batch1->size[2]);

    p.n_batch = batch1->size[0];
    p.sum_batch = true;
    p.a = matrices(batch1);
    p.b = matrices(batch2);
    p.c = operand(out, 0, out->stride[0], out->stride[1]);
    p.d = expanded(self, 2, out->size);
    if (p.n_batch == 0) {
        p.n_batch = 1;
        p.k = 0;
    }
    return run_adding(&p, out, self, batch1, batch2, beta, alpha);
}
