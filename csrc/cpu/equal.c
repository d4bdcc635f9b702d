/* SPDX-License-Identifier: BSD-3-Clause */
/* equal: do two tensors have one shape and the same numbers? Operands that are not dense or differ in dtype are copied
   into the common dtype first; then one pass in blocks stops at the first difference. NaN equals nothing, and the zeros
   of both signs are equal. */
#include <string.h>

#include "base/parallel.h"
#include "core/op.h"
#include "core/shape.h"
#include "cpu/assign.h"
#include "kernels.h"
#include "math/scalar.h"

enum { BLOCK = 4096 };

typedef struct equal_job {
    const char *a, *b;
    bool (*differs)(const char *a, const char *b, int64_t n);
    int64_t itemsize;
    bool found;
} equal_job;

#define DEFINE_DIFFERS(name, type, load)                                                   \
    static bool differs_##name(const char *a, const char *b, int64_t n)                    \
    {                                                                                      \
        const type *x = (const type *)(const void *)a, *y = (const type *)(const void *)b; \
        unsigned bad = 0;                                                                  \
                                                                                           \
        for (int64_t i = 0; i < n; i++)                                                    \
            bad |= load(x[i]) != load(y[i]);                                               \
        return bad != 0;                                                                   \
    }
#define AS_IS(v) (v)
DEFINE_DIFFERS(f16, uint16_t, mt_f16_to_f32)
DEFINE_DIFFERS(bf16, uint16_t, mt_bf16_to_f32)
DEFINE_DIFFERS(f32, float, AS_IS)
DEFINE_DIFFERS(f64, double, AS_IS)
#undef AS_IS
#undef DEFINE_DIFFERS

static void compare_range(void *ctx, int64_t begin, int64_t end)
{
    equal_job *job = ctx;

    for (int64_t i = begin; i < end; i += BLOCK) {
        int64_t n = end - i < BLOCK ? end - i : BLOCK;
        const char *a = job->a + i * job->itemsize, *b = job->b + i * job->itemsize;

        if (__atomic_load_n(&job->found, __ATOMIC_RELAXED))
            return;
        if (job->differs ? job->differs(a, b, n) : memcmp(a, b, (size_t)(n * job->itemsize)) != 0) {
            __atomic_store_n(&job->found, true, __ATOMIC_RELAXED);
            return;
        }
    }
}

/* t itself, or a dense copy of another dtype. */
static int dense_as(mt_tensor **out, mt_tensor *t, mt_dtype dtype)
{
    if (t->dtype == (uint8_t)dtype && (t->flags & MT_FLAG_CONTIGUOUS)) {
        *out = mt_tensor_ref(t);
        return 0;
    }
    if (mt_tensor_new(out, dtype, t->ndim, t->size, t->device) < 0)
        return -1;
    return mt_cpu_assign(*out, t);
}

int mt_cpu_equal(bool *out, mt_tensor *self, mt_tensor *other)
{
    mt_dtype dtype = mt_dtype_promote((mt_dtype)self->dtype, (mt_dtype)other->dtype), real;
    mt_tensor *a = NULL, *b = NULL;
    equal_job job = {.found = false};
    int64_t n;
    int rc = -1;

    *out = false;
    if (dtype == MT_DTYPE_NONE)
        return mt_dtype_refuse_promotion((mt_dtype)self->dtype, (mt_dtype)other->dtype);
    if (mt_dtype_is_shell(dtype) && !mt_dtype_shares_bits(dtype)) /* elements of eight bits compare as floats */
        dtype = (mt_dtype)mt_dtype_table[dtype].loop;
    real = mt_dtype_to_real(dtype);
    n = self->numel * (mt_dtype_is_complex(dtype) ? 2 : 1);
    if (!mt_shape_equal(self->ndim, self->size, other->ndim, other->size))
        return 0;
    MT_TRY(dense_as(&a, self, dtype));
    MT_TRY(dense_as(&b, other, dtype));
    job.a = mt_tensor_const_data(a);
    job.b = mt_tensor_const_data(b);
    job.itemsize = (int64_t)mt_dtype_size(real);
    job.differs = real == MT_DTYPE_f16    ? differs_f16
                  : real == MT_DTYPE_bf16 ? differs_bf16
                  : real == MT_DTYPE_f32  ? differs_f32
                  : real == MT_DTYPE_f64  ? differs_f64
                                          : NULL;
    mt_parallel_for(n, 0.1 * (double)job.itemsize, BLOCK, compare_range, &job);
    *out = !job.found;
    rc = 0;
fail:
    mt_tensor_clear(&a);
    mt_tensor_clear(&b);
    return rc;
}
