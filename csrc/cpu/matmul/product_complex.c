/* SPDX-License-Identifier: BSD-3-Clause */
/* Products of complex matrices as one real product of twice the depth and width: with each number of B written as a
   block [re im; -im re], rows of A and C are read as pairs of reals where they lie. alpha goes into the copy of B. */
#include "cpu/matmul/product.h"

#include "cpu/copy.h"
#include "cpu/matmul/gemm.h"

/* Row k of B as rows 2k and 2k + 1 of reals, multiplied by alpha. */
#define EXPAND(name, R, C)                                                            \
    static void name(R *dst, const mt_product *p, const char *b)                      \
    {                                                                                 \
        mt_c128 alpha = mt_scalar_to_complex(p->alpha);                               \
        R ar = (R)alpha.re, ai = (R)alpha.im, sign = p->conjugate_b ? (R) - 1 : (R)1; \
                                                                                      \
        for (int64_t k = 0; k < p->k; k++, dst += 4 * p->n)                           \
            for (int64_t j = 0; j < p->n; j++) {                                      \
                C x = ((const C *)b)[k * p->b.row + j * p->b.col];                    \
                R re = x.re, im = sign * x.im;                                        \
                                                                                      \
                if (ar != 1 || ai != 0) {                                             \
                    R t = ar * re - ai * im;                                          \
                                                                                      \
                    im = ar * im + ai * re;                                           \
                    re = t;                                                           \
                }                                                                     \
                dst[2 * j] = re;                                                      \
                dst[2 * j + 1] = im;                                                  \
                dst[2 * p->n + 2 * j] = -im;                                          \
                dst[2 * p->n + 2 * j + 1] = re;                                       \
            }                                                                         \
    }
EXPAND(expand_c64, float, mt_c64)
EXPAND(expand_c128, double, mt_c128)
#undef EXPAND

static void scale_row_c64(mt_c64 *c, const mt_c64 *d, int64_t d_col, int64_t n, mt_c128 beta)
{
    float br = (float)beta.re, bi = (float)beta.im;

    for (int64_t j = 0; j < n; j++) {
        mt_c64 x = d[j * d_col];

        c[j].re = br * x.re - bi * x.im;
        c[j].im = br * x.im + bi * x.re;
    }
}

static void scale_row_c128(mt_c128 *c, const mt_c128 *d, int64_t d_col, int64_t n, mt_c128 beta)
{
    for (int64_t j = 0; j < n; j++) {
        mt_c128 x = d[j * d_col];

        c[j].re = beta.re * x.re - beta.im * x.im;
        c[j].im = beta.re * x.im + beta.im * x.re;
    }
}

/* C = beta D; rows of C are contiguous. */
static void scale_addend(const mt_product *p, int64_t batch)
{
    mt_c128 beta = mt_scalar_to_complex(p->beta);
    int64_t size = (int64_t)mt_dtype_size(p->dtype);

    if (beta.re == 1 && beta.im == 0 && p->c.data == p->d.data && p->c.row == p->d.row && p->d.col == 1)
        return;
    for (int64_t i = 0; i < p->m; i++) {
        char *c = p->c.data + (batch * p->c.batch + i * p->c.row) * size;
        const char *d = p->d.data + (batch * p->d.batch + i * p->d.row) * size;

        if (p->dtype == MT_DTYPE_c64)
            scale_row_c64((mt_c64 *)c, (const mt_c64 *)d, p->d.col, p->n, beta);
        else
            scale_row_c128((mt_c128 *)c, (const mt_c128 *)d, p->d.col, p->n, beta);
    }
}

/* Rows of A and C are contiguous. */
static int run(const mt_product *p)
{
    int64_t size = (int64_t)mt_dtype_size(p->dtype);
    bool single = p->dtype == MT_DTYPE_c64, adds = !mt_scalar_equals_int(p->beta, 0);
    mt_operand wide;

    if (mt_product_new_matrix(&wide, 1, 2 * p->k, 2 * p->n, (size_t)size / 2) < 0)
        return -1;
    for (int64_t i = 0; i < p->n_batch; i++) {
        char *c = p->c.data + (p->sum_batch ? 0 : i * p->c.batch * size);
        bool accumulate = adds || (p->sum_batch && i > 0);
        mt_gemm g = {p->m,
                     2 * p->n,
                     2 * p->k,
                     p->a.data + i * p->a.batch * size,
                     wide.data,
                     c,
                     c,
                     2 * p->a.row,
                     1,
                     2 * p->n,
                     1,
                     2 * p->c.row,
                     1,
                     2 * p->c.row,
                     1,
                     1.0,
                     accumulate ? 1.0 : 0.0};

        if (i == 0 || p->b.batch) {
            if (single)
                expand_c64((float *)wide.data, p, p->b.data + i * p->b.batch * size);
            else
                expand_c128((double *)wide.data, p, p->b.data + i * p->b.batch * size);
        }
        if (adds && (i == 0 || !p->sum_batch))
            scale_addend(p, i);
        (single ? mt_gemm_f32 : mt_gemm_f64)(&g);
    }
    mt_product_free_matrix(&wide, 1, 2 * p->k, 2 * p->n, (size_t)size / 2);
    return 0;
}

/* C^T = B^T A^T. */
static void turn(mt_product *p)
{
    mt_operand a = p->a;
    int64_t m = p->m;

    p->m = p->n;
    p->n = m;
    p->a = (mt_operand){p->b.data, p->b.batch, p->b.col, p->b.row};
    p->b = (mt_operand){a.data, a.batch, a.col, a.row};
    p->c = (mt_operand){p->c.data, p->c.batch, p->c.col, p->c.row};
    p->d = (mt_operand){p->d.data, p->d.batch, p->d.col, p->d.row};
}

int mt_product_complex(const mt_product *given)
{
    mt_product p = *given;
    int64_t size = (int64_t)mt_dtype_size(p.dtype), copies, from[3], to[3];
    mt_operand a;
    int rc;

    if (p.n > 1 && p.c.col != 1)
        turn(&p);
    if (p.a.col == 1 || p.k <= 1)
        return run(&p);
    a = p.a;
    copies = a.batch ? p.n_batch : 1;
    if (mt_product_new_matrix(&p.a, copies, p.m, p.k, (size_t)size) < 0)
        return -1;
    from[0] = a.batch * size;
    from[1] = a.row * size;
    from[2] = a.col * size;
    to[0] = p.m * p.k * size;
    to[1] = p.k * size;
    to[2] = size;
    mt_cpu_copy_strided(p.a.data, to, a.data, from, (const int64_t[]){copies, p.m, p.k}, 3, (size_t)size);
    rc = run(&p);
    mt_product_free_matrix(&p.a, copies, p.m, p.k, (size_t)size);
    return rc;
}
