/* SPDX-License-Identifier: BSD-3-Clause */
/* Points of arange and linspace for the dtype in scope, bit for bit those of PyTorch. Its arange computes blocks of 32
   bytes from a first point that is rounded to the dtype; what does not fill two blocks is computed point by point.
   Its linspace counts from the nearer end. Multiply-adds are fused in both; the half formats round each step. */
#ifndef T
#include "cpu/range.h"
#include "math/dtype/f32.h"
#endif

#define ARANGE MT_LOOP_SYMBOL(arange, XS)
#define LINSPACE MT_LOOP_SYMBOL(linspace, XS)

#if IS_FLOAT && IS_HALF
#define WIDER float
#define FUSED(x, y, z) fmaf((x), (y), (z))
#elif IS_FLOAT
#define WIDER double
#define FUSED(x, y, z) fma((x), (y), (z))
#endif

#if IS_FLOAT

static void ARANGE(const mt_range *r, int64_t begin, int64_t end)
{
    enum { BLOCK = 32 / sizeof(X) };
    const WIDER start = (WIDER)r->start.d, step = (WIDER)r->step.d;
    int64_t blocks_end = r->n / (2 * BLOCK) * (2 * BLOCK), i = begin;
    X *out = r->out;

    for (; i < blocks_end && i < end; i += BLOCK) {
        const WIDER first = (WIDER)LOAD(STORE((T)FUSED(step, (WIDER)i, start)));

        for (int k = 0; k < BLOCK; k++)
            out[i + k] = STORE((T)FUSED((WIDER)k, step, first));
    }
    for (; i < end; i++)
        out[i] = STORE((T)FUSED(step, (WIDER)i, start));
}

#elif IS_INT

static void ARANGE(const mt_range *r, int64_t begin, int64_t end)
{
    const uint64_t start = (uint64_t)r->start.i, step = (uint64_t)r->step.i;
    X *out = r->out;

    for (int64_t i = begin; i < end; i++)
        out[i] = (X)(start + step * (uint64_t)i);
}

#endif

#if IS_COMPLEX

static void LINSPACE(const mt_range *r, int64_t begin, int64_t end)
{
    const REAL start_re = (REAL)r->start.c.re, start_im = (REAL)r->start.c.im;
    const REAL end_re = (REAL)r->end.c.re, end_im = (REAL)r->end.c.im;
    const REAL step_re = (end_re - start_re) / (REAL)(r->n - 1), step_im = (end_im - start_im) / (REAL)(r->n - 1);
    X *out = r->out;

    for (int64_t i = begin; i < end; i++) {
        const REAL up = (REAL)i, down = (REAL)(r->n - i - 1);

        if (i < r->n / 2) {
            out[i].re = LIBM(fma)(step_re, up, start_re);
            out[i].im = LIBM(fma)(step_im, up, start_im);
        } else {
            out[i].re = LIBM(fma)(-step_re, down, end_re);
            out[i].im = LIBM(fma)(-step_im, down, end_im);
        }
    }
}

#elif IS_INT

static void LINSPACE(const mt_range *r, int64_t begin, int64_t end)
{
    const double first = (double)r->start.i, last = (double)r->end.i, step = (last - first) / (double)(r->n - 1);
    X *out = r->out;

    for (int64_t i = begin; i < end; i++)
        out[i] =
            (X)mt_f64_to_i64(i < r->n / 2 ? fma(step, (double)i, first) : fma(-step, (double)(r->n - i - 1), last));
}

#elif IS_HALF

/* Every operation of PyTorch's half types rounds. */
static void LINSPACE(const mt_range *r, int64_t begin, int64_t end)
{
    const float first = (float)r->start.d, last = (float)r->end.d;
    const float step = LOAD(STORE(LOAD(STORE(last - first)) / LOAD(STORE((float)(r->n - 1)))));
    X *out = r->out;

    for (int64_t i = begin; i < end; i++) {
        const bool is_low = i < r->n / 2;
        const float count = LOAD(STORE((float)(is_low ? i : r->n - i - 1))), way = LOAD(STORE(step * count));

        out[i] = STORE(is_low ? first + way : last - way);
    }
}

#else

static void LINSPACE(const mt_range *r, int64_t begin, int64_t end)
{
    const T first = (T)r->start.d, last = (T)r->end.d, step = (last - first) / (T)(r->n - 1);
    X *out = r->out;

    for (int64_t i = begin; i < end; i++)
        out[i] = i < r->n / 2 ? LIBM(fma)(step, (T)i, first) : LIBM(fma)(-step, (T)(r->n - i - 1), last);
}

#endif

#undef ARANGE
#undef LINSPACE
#undef WIDER
#undef FUSED
