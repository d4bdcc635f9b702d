/* SPDX-License-Identifier: BSD-3-Clause */
/* One product for every dtype. float32 and float64 go straight to gemm.c, complex numbers to product_complex.c, integers
   of 32 and 64 bits to kernels of their own. Half types and small integers are copied to a wider type. */
#include "cpu/matmul/product.h"

#include <string.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/error.h"
#include "base/parallel.h"
#include "cpu/copy.h"
#include "cpu/matmul/gemm.h"
#include "cpu/matmul/gemm_bf16.h"

/* --- scratch matrices --- */

int mt_product_new_matrix(mt_operand *out, int64_t n_batch, int64_t rows, int64_t cols, size_t itemsize)
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

void mt_product_free_matrix(mt_operand *m, int64_t n_batch, int64_t rows, int64_t cols, size_t itemsize)
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
    cast_job j = {
        *dst, *src, rows, cols, (int64_t)mt_dtype_size(to), (int64_t)mt_dtype_size(from), mt_cast_table[from][to]};

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
    mt_gemm g = {p->m,
                 p->n,
                 p->k,
                 p->a.data,
                 p->b.data,
                 p->d.data,
                 p->c.data,
                 p->a.row,
                 p->a.col,
                 p->b.row,
                 p->b.col,
                 p->c.row,
                 p->c.col,
                 p->d.row,
                 p->d.col,
                 mt_scalar_to_double(p->alpha),
                 mt_scalar_to_double(p->beta)};

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

static int run_native(const mt_product *p);

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
    if (mt_product_new_matrix(&q.a, na, p->m, p->k, size) < 0 ||
        mt_product_new_matrix(&q.b, nb, p->k, p->n, size) < 0 || mt_product_new_matrix(&q.c, nc, p->m, p->n, size) < 0)
        goto fail;
    cast_matrix(&q.a, via, &p->a, p->dtype, na, p->m, p->k);
    cast_matrix(&q.b, via, &p->b, p->dtype, nb, p->k, p->n);
    q.d = q.c;
    if (!mt_scalar_equals_int(p->beta, 0))
        cast_matrix(&q.c, via, &p->d, p->dtype, nc, p->m, p->n);
    if (run_native(&q) < 0)
        goto fail;
    cast_matrix(&p->c, p->dtype, &q.c, via, nc, p->m, p->n);
    rc = 0;
fail:
    mt_product_free_matrix(&q.a, na, p->m, p->k, size);
    mt_product_free_matrix(&q.b, nb, p->k, p->n, size);
    mt_product_free_matrix(&q.c, nc, p->m, p->n, size);
    return rc;
}

/* --- bfloat16 where the processor multiplies it --- */

typedef struct bf16_job {
    const mt_product *p;
    float *sums; /* n_batch x m x n */
    _Atomic bool failed;
} bf16_job;

static void multiply_bf16(void *ctx, int64_t begin, int64_t end)
{
    bf16_job *j = ctx;
    const mt_product *p = j->p;

    for (int64_t i = begin; i < end; i++) {
        mt_gemm_bf16 g = {p->m,
                          p->n,
                          p->k,
                          (const uint16_t *)(const void *)p->a.data + i * p->a.batch,
                          (const uint16_t *)(const void *)p->b.data + i * p->b.batch,
                          j->sums + i * p->m * p->n,
                          p->a.row,
                          p->a.col,
                          p->b.row,
                          p->b.col,
                          p->n};

        if (mt_gemm_bf16_run(&g) < 0)
            j->failed = true;
    }
}

/* Rows of all batches: c = alpha s + beta d, rounded once. */
static void finish_bf16(void *ctx, int64_t begin, int64_t end)
{
    enum { PIECE = 256 };
    const bf16_job *job = ctx;
    const mt_product *p = job->p;
    float alpha = (float)mt_scalar_to_double(p->alpha), beta = (float)mt_scalar_to_double(p->beta), addend[PIECE];

    for (int64_t row = begin; row < end; row++) {
        int64_t batch = row / p->m, i = row % p->m;
        float *s = job->sums + row * p->n;
        char *c = p->c.data + 2 * (batch * p->c.batch + i * p->c.row);
        const char *d = p->d.data + 2 * (batch * p->d.batch + i * p->d.row);

        for (int64_t j = 0; j < p->n && (alpha != 1 || beta != 0); j += PIECE) {
            int64_t n = p->n - j < PIECE ? p->n - j : PIECE;

            if (beta != 0)
                mt_cast_table[MT_DTYPE_bf16][MT_DTYPE_f32]((char *)addend, 4, d + 2 * j * p->d.col, 2 * p->d.col, n);
            for (int64_t q = 0; q < n; q++)
                s[j + q] = alpha * s[j + q] + (beta != 0 ? beta * addend[q] : 0.0f);
        }
        mt_cast_table[MT_DTYPE_f32][MT_DTYPE_bf16](c, 2 * p->c.col, (const char *)s, 4, p->n);
    }
}

static int run_bf16(const mt_product *p)
{
    bf16_job job = {p, NULL, false};
    double flops = 2.0 * (double)p->m * (double)p->n * (double)p->k;
    mt_operand sums;

    if (mt_product_new_matrix(&sums, p->n_batch, p->m, p->n, sizeof(float)) < 0)
        return -1;
    job.sums = (float *)(void *)sums.data;
    if (p->n_batch < 2 * mt_get_num_threads() && flops > 1e7)
        multiply_bf16(&job, 0, p->n_batch); /* split inside */
    else
        mt_parallel_for(p->n_batch, 200.0 + flops / 150.0, 1, multiply_bf16, &job);
    if (!job.failed)
        mt_parallel_for(p->n_batch * p->m, 10.0 + 0.3 * (double)p->n, 1, finish_bf16, &job);
    mt_product_free_matrix(&sums, p->n_batch, p->m, p->n, sizeof(float));
    return job.failed ? mt_error_set(MT_ERR_MEMORY, "no memory for a matrix product") : 0;
}

static bool suits_bf16(const mt_product *p)
{
    return p->dtype == MT_DTYPE_bf16 && !p->sum_batch && p->k >= 16 &&
           (double)p->m * (double)p->n * (double)p->k >= 4096 && mt_gemm_bf16_available();
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
    mt_int_product q = {end - begin,
                        p->n,
                        p->k,
                        NULL,
                        NULL,
                        c,
                        p->a.row,
                        p->a.col,
                        p->b.row,
                        p->b.col,
                        p->c.row,
                        p->c.col,
                        (uint64_t)mt_scalar_to_int(p->alpha)};

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

/* --- choice --- */

static int run_native(const mt_product *p)
{
    switch (p->dtype) {
    case MT_DTYPE_f32:
    case MT_DTYPE_f64:
        run_real(p);
        return 0;
    case MT_DTYPE_i32:
    case MT_DTYPE_i64:
        run_int(p);
        return 0;
    case MT_DTYPE_c64:
    case MT_DTYPE_c128:
        return mt_product_complex(p);
    default:
        if (suits_bf16(p))
            return run_bf16(p);
        return run_converted(p, mt_dtype_is_float(p->dtype) ? MT_DTYPE_f32 : MT_DTYPE_i32);
    }
}

/* C has contiguous rows or columns for the kernels; any other goes through a copy. */
static int run_through_copy(const mt_product *p)
{
    int64_t copies = p->sum_batch ? 1 : p->n_batch, size = (int64_t)mt_dtype_size(p->dtype);
    int64_t to[3] = {p->c.batch * size, p->c.row * size, p->c.col * size};
    int64_t from[3] = {p->m * p->n * size, p->n * size, size}, sizes[3] = {copies, p->m, p->n};
    mt_product q = *p;
    int rc;

    if (mt_product_new_matrix(&q.c, copies, p->m, p->n, (size_t)size) < 0)
        return -1;
    rc = run_native(&q);
    if (rc == 0)
        mt_cpu_copy_strided(p->c.data, to, q.c.data, from, sizes, 3, (size_t)size);
    mt_product_free_matrix(&q.c, copies, p->m, p->n, (size_t)size);
    return rc;
}

int mt_cpu_product(const mt_product *p)
{
    if (p->m <= 0 || p->n <= 0 || p->n_batch <= 0)
        return 0;
    if (p->c.col == 1 || p->n == 1 || p->c.row == 1 || p->m == 1)
        return run_native(p);
    return run_through_copy(p);
}
