/* SPDX-License-Identifier: BSD-3-Clause */
/* One product for every dtype. float32 and float64 go straight to gemm.c. Others are brought there: half types and small
   integers as copies of a wider type, complex numbers as pairs of reals. A complex product is one real product of
   twice the depth and width: with B written as 2 x 2 blocks [re im; -im re], rows of A and C are read as they lie. */
#include "cpu/matmul/product.h"

#include <string.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/error.h"
#include "base/parallel.h"
#include "cpu/copy.h"
#include "cpu/matmul/gemm.h"

/* --- scratch matrices --- */

/* n_batch x rows x cols elements, contiguous; freed by the caller. */
static int new_matrix(mt_operand *out, int64_t n_batch, int64_t rows, int64_t cols, size_t itemsize)
{
    int64_t n = 0;
    void *p = NULL;

    out->data = NULL;
    if (mt_mul_overflow(rows, cols, &n) || mt_mul_overflow(n, n_batch, &n) || mt_mul_overflow(n, (int64_t)itemsize, &n))
        return mt_error_set(MT_ERR_MEMORY, "the copy of a matrix is too large");
    if (mt_data_alloc(&p, (size_t)n) < 0)
        return -1;
    out->data = p;
    out->batch = n_batch > 1 ? rows * cols : 0;
    out->row = cols;
    out->col = 1;
    return 0;
}

static void free_matrix(mt_operand *m, int64_t n_batch, int64_t rows, int64_t cols, size_t itemsize)
{
    mt_data_free(m->data, (size_t)(n_batch * rows * cols) * itemsize);
    m->data = NULL;
}

/* Casting whole operands, row by row. */
typedef struct cast_job {
    mt_operand dst, src;
    int64_t rows, cols, dst_size, src_size;
    mt_cast_fn *cast;
} cast_job;

static void cast_rows(void *ctx, int64_t begin, int64_t end)
{
    const cast_job *j = ctx;

    for (int64_t i = begin; i < end; i++) {
        int64_t b = i / j->rows, r = i % j->rows;

        j->cast(j->dst.data + (b * j->dst.batch + r * j->dst.row) * j->dst_size, j->dst.col * j->dst_size,
                j->src.data + (b * j->src.batch + r * j->src.row) * j->src_size, j->src.col * j->src_size, j->cols);
    }
}

static void cast_matrix(const mt_operand *dst, mt_dtype to, const mt_operand *src, mt_dtype from, int64_t n_batch,
                        int64_t rows, int64_t cols)
{
    cast_job j = {*dst, *src, rows, cols, (int64_t)mt_dtype_size(to), (int64_t)mt_dtype_size(from),
                  mt_cast_table[from][to]};

    mt_parallel_for(n_batch * rows, 5.0 + 0.5 * (double)cols, 1, cast_rows, &j);
}

/* --- float32 and float64 --- */

static void add_zeroth(mt_gemm *g, const mt_product *p, size_t size, int64_t i)
{
    g->a = p->a.data + i * p->a.batch * (int64_t)size;
    g->b = p->b.data + i * p->b.batch * (int64_t)size;
    if (i > 0) {
        g->d = g->c;
        g->d_row = g->c_row;
        g->d_col = g->c_col;
        g->beta = 1;
    }
}

static void run_real(const mt_product *p)
{
    size_t size = mt_dtype_size(p->dtype);
    mt_gemm_batch batch = {p->n_batch, p->a.batch, p->b.batch, p->c.batch, p->d.batch};
    mt_gemm g = {p->m, p->n, p->k, p->a.data, p->b.data, p->d.data, p->c.data, p->a.row, p->a.col, p->b.row, p->b.col,
                 p->c.row, p->c.col, p->d.row, p->d.col, mt_scalar_to_double(p->alpha), mt_scalar_to_double(p->beta)};

    if (!p->sum_batch && p->n_batch != 1) {
        (p->dtype == MT_DTYPE_f32 ? mt_gemm_batched_f32 : mt_gemm_batched_f64)(&g, &batch);
        return;
    }
    for (int64_t i = 0; i < p->n_batch; i++) {
        add_zeroth(&g, p, size, i);
        (p->dtype == MT_DTYPE_f32 ? mt_gemm_f32 : mt_gemm_f64)(&g);
    }
}

/* --- through copies of another dtype --- */

static int run_plain(const mt_product *p);

/* An operand that is the same for the whole batch is copied once. */
static int64_t copies_of(const mt_operand *m, int64_t n_batch)
{
    return m->batch ? n_batch : 1;
}

static int run_converted(const mt_product *p, mt_dtype via)
{
    size_t size = mt_dtype_size(via);
    int64_t na = copies_of(&p->a, p->n_batch), nb = copies_of(&p->b, p->n_batch), nc = p->sum_batch ? 1 : p->n_batch;
    mt_product q = *p;
    int rc = -1;

    q.dtype = via;
    q.a.data = q.b.data = q.c.data = NULL;
    if (new_matrix(&q.a, na, p->m, p->k, size) < 0 || new_matrix(&q.b, nb, p->k, p->n, size) < 0 ||
        new_matrix(&q.c, nc, p->m, p->n, size) < 0)
        goto fail;
    cast_matrix(&q.a, via, &p->a, p->dtype, na, p->m, p->k);
    cast_matrix(&q.b, via, &p->b, p->dtype, nb, p->k, p->n);
    q.d = q.c;
    if (!mt_scalar_equals_int(p->beta, 0))
        cast_matrix(&q.c, via, &p->d, p->dtype, nc, p->m, p->n);
    if (run_plain(&q) < 0)
        goto fail;
    cast_matrix(&p->c, p->dtype, &q.c, via, nc, p->m, p->n);
    rc = 0;
fail:
    free_matrix(&q.a, na, p->m, p->k, size);
    free_matrix(&q.b, nb, p->k, p->n, size);
    free_matrix(&q.c, nc, p->m, p->n, size);
    return rc;
}

/* --- integers of 32 and 64 bits --- */

typedef struct int_job {
    const mt_product *p;
    int64_t size;
} int_job;

/* C = beta D, then the products. Indices run over the rows of the whole batch. */
static void run_int_rows(const int_job *job, int64_t batch, int64_t begin, int64_t end)
{
    const mt_product *p = job->p;
    int64_t size = job->size;
    uint64_t beta = (uint64_t)mt_scalar_to_int(p->beta);
    char *c = p->c.data + (batch * p->c.batch + begin * p->c.row) * size;
    mt_int_product q = {end - begin, p->n, p->k, NULL, NULL, c, p->a.row, p->a.col, p->b.row, p->b.col, p->c.row,
                        p->c.col, (uint64_t)mt_scalar_to_int(p->alpha)};

    for (int64_t i = begin; i < end; i++)
        for (int64_t j = 0; j < p->n; j++) {
            char *to = p->c.data + (batch * p->c.batch + i * p->c.row + j * p->c.col) * size;
            uint64_t value = 0;

            if (beta) {
                memcpy(&value, p->d.data + (batch * p->d.batch + i * p->d.row + j * p->d.col) * size, (size_t)size);
                value *= beta;
            }
            memcpy(to, &value, (size_t)size);
        }
    for (int64_t b = 0; b < (p->sum_batch ? p->n_batch : 1); b++) {
        q.a = p->a.data + ((batch + b) * p->a.batch + begin * p->a.row) * size;
        q.b = p->b.data + (batch + b) * p->b.batch * size;
        if (size == 4)
            MT_ISA_PICK(mt_int_product_u32)(&q);
        else
            MT_ISA_PICK(mt_int_product_u64)(&q);
    }
}

static void run_int_range(void *ctx, int64_t begin, int64_t end)
{
    const int_job *job = ctx;
    int64_t m = job->p->m;

    while (begin < end) {
        int64_t batch = begin / m, first = begin % m, last = m - first < end - begin ? m : first + end - begin;

        run_int_rows(job, batch, first, last);
        begin += last - first;
    }
}

static void run_int(const mt_product *p)
{
    int_job job = {p, (int64_t)mt_dtype_size(p->dtype)};
    int64_t rows = p->sum_batch ? p->m : p->n_batch * p->m, depth = p->sum_batch ? p->k * p->n_batch : p->k;

    mt_parallel_for(rows, 2.0 + 0.05 * (double)p->n * (double)depth, p->m < 64 ? p->m : 16, run_int_range, &job);
}

/* --- complex numbers --- */

/* Row k of B as rows 2k and 2k + 1 of reals, multiplied by alpha. */
#define EXPAND(name, R, C)                                                                                       \
    static void name(R *dst, const mt_product *p, const char *b)                                                 \
    {                                                                                                            \
        mt_c128 alpha = mt_scalar_to_complex(p->alpha);                                                          \
        R ar = (R)alpha.re, ai = (R)alpha.im, sign = p->conjugate_b ? (R)-1 : (R)1;                              \
                                                                                                                 \
        for (int64_t k = 0; k < p->k; k++, dst += 4 * p->n)                                                      \
            for (int64_t j = 0; j < p->n; j++) {                                                                 \
                C x = ((const C *)b)[k * p->b.row + j * p->b.col];                                               \
                R re = x.re, im = sign * x.im;                                                                   \
                                                                                                                 \
                if (ar != 1 || ai != 0) {                                                                        \
                    R t = ar * re - ai * im;                                                                     \
                                                                                                                 \
                    im = ar * im + ai * re;                                                                      \
                    re = t;                                                                                      \
                }                                                                                                \
                dst[2 * j] = re;                                                                                 \
                dst[2 * j + 1] = im;                                                                             \
                dst[2 * p->n + 2 * j] = -im;                                                                     \
                dst[2 * p->n + 2 * j + 1] = re;                                                                  \
            }                                                                                                    \
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
static int run_complex(const mt_product *p)
{
    int64_t size = (int64_t)mt_dtype_size(p->dtype);
    bool single = p->dtype == MT_DTYPE_c64, adds = !mt_scalar_equals_int(p->beta, 0);
    mt_operand wide;

    if (new_matrix(&wide, 1, 2 * p->k, 2 * p->n, (size_t)size / 2) < 0)
        return -1;
    for (int64_t i = 0; i < p->n_batch; i++) {
        char *c = p->c.data + (p->sum_batch ? 0 : i * p->c.batch * size);
        bool accumulate = adds || (p->sum_batch && i > 0);
        mt_gemm g = {p->m, 2 * p->n, 2 * p->k, p->a.data + i * p->a.batch * size, wide.data, c, c, 2 * p->a.row, 1,
                     2 * p->n, 1, 2 * p->c.row, 1, 2 * p->c.row, 1, 1.0, accumulate ? 1.0 : 0.0};

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
    free_matrix(&wide, 1, 2 * p->k, 2 * p->n, (size_t)size / 2);
    return 0;
}

/* --- choice --- */

/* C^T = B^T A^T; not for a conjugated B. */
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

/* With A in contiguous rows, copied if they are not. */
static int run_complex_any(const mt_product *given)
{
    mt_product p = *given;
    size_t size = mt_dtype_size(p.dtype);
    int64_t copies = copies_of(&p.a, p.n_batch);
    int rc;

    if (p.c.col != 1 && !p.conjugate_b) {
        turn(&p);
        copies = copies_of(&p.a, p.n_batch);
    }
    if (p.a.col == 1 || p.k == 1)
        return run_complex(&p);
    if (new_matrix(&p.a, copies, p.m, p.k, size) < 0)
        return -1;
    for (int64_t i = 0; i < copies; i++) {
        const mt_operand *from = given->m == p.m && given->a.row == given->a.row ? &given->a : &given->b;
        (void)from;
    }
    rc = run_complex(&p);
    free_matrix(&p.a, copies, p.m, p.k, size);
    return rc;
}
