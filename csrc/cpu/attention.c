/* SPDX-License-Identifier: BSD-3-Clause */
/* Attention without a matrix of all scores: rows of the queries are taken in blocks, whose scores stay in the cache
   between the two products. The backward pass computes the weights again from the logarithm of their sum. Every head is
   a task of its own. Rows of the operands may be apart; their elements are contiguous. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/parallel.h"
#include "core/dispatch.h"
#include "cpu/matmul/gemm.h"
#include "cpu/softmax.h"
#include "kernels.h"

#define BLOCK_ROWS 64
#define CAUSAL_ROWS 32 /* less is computed in vain above the diagonal */
#define BLOCK_SCORES 65536

typedef struct job {
    mt_tensor *q, *k, *v, *mask, *out, *lse;
    mt_tensor *grad, *dq, *dk, *dv; /* backward */
    int64_t mask_stride[4];
    int64_t n_queries, n_keys, width, rows;
    int64_t n_heads, n_tasks;
    double scale;
    bool causal, wide;
    char *room; /* per task */
    int64_t task_bytes;
} job;

/* One head: where its matrices begin. */
typedef struct head {
    const job *j;
    const char *q, *k, *v, *mask, *grad;
    char *out, *lse, *dq, *dk, *dv;
    char *queries, *scores, *slopes, *delta; /* of a block */
    int64_t first, rows, cols;               /* the block */
} head;

static int64_t itemsize(const job *j)
{
    return j->wide ? 8 : 4;
}

static char *matrix(const job *j, mt_tensor *t, int64_t h)
{
    int64_t n = j->q->size[1], at = h / n * t->stride[0] + h % n * t->stride[1];

    return (char *)(uintptr_t)mt_tensor_const_data(t) + at * itemsize(j);
}

static const char *row_of(const head *h, const char *p, const mt_tensor *t, int64_t row)
{
    return p + row * t->stride[2] * itemsize(h->j);
}

/* C (+)= A B; strides of rows, then of columns. */
typedef struct operand {
    const void *p;
    int64_t row, col;
} operand;

static void product(const job *j, char *c, int64_t c_row, int64_t m, int64_t n, int64_t k, operand a, operand b,
                    bool add)
{
    mt_gemm g = {.m = m,
                 .n = n,
                 .k = k,
                 .a = a.p,
                 .b = b.p,
                 .d = c,
                 .c = c,
                 .a_row = a.row,
                 .a_col = a.col,
                 .b_row = b.row,
                 .b_col = b.col,
                 .c_row = c_row,
                 .c_col = 1,
                 .d_row = c_row,
                 .d_col = 1,
                 .alpha = 1,
                 .beta = add};

    if (j->wide)
        mt_gemm_f64(&g);
    else
        mt_gemm_f32(&g);
}

/* --- scores of a block --- */

static void scale_queries(const head *h)
{
    const job *j = h->j;
    const char *from = row_of(h, h->q, j->q, h->first);

    if (j->wide)
        MT_ISA_PICK(mt_attention_queries_f64)((double *)h->queries, (const double *)from, j->q->stride[2], h->rows,
                                              j->width, j->scale);
    else
        MT_ISA_PICK(mt_attention_queries_f32)((float *)h->queries, (const float *)from, j->q->stride[2], h->rows,
                                              j->width, (float)j->scale);
}

static void hide_future(const head *h)
{
    if (h->j->wide)
        MT_ISA_PICK(mt_attention_hide_f64)((double *)h->scores, h->rows, h->cols, h->first + 1);
    else
        MT_ISA_PICK(mt_attention_hide_f32)((float *)h->scores, h->rows, h->cols, h->first + 1);
}

static void hide(const job *j, char *scores, int64_t i)
{
    if (j->wide)
        ((double *)scores)[i] = -INFINITY;
    else
        ((float *)scores)[i] = -INFINITY;
}

static void apply_mask(const head *h)
{
    const job *j = h->j;
    const int64_t *s = j->mask_stride;

    for (int64_t r = 0; r < h->rows; r++)
        for (int64_t c = 0; c < h->cols; c++) {
            int64_t at = (h->first + r) * s[2] + c * s[3], i = r * h->cols + c;

            if (j->mask->dtype == MT_DTYPE_b8) {
                if (!((const uint8_t *)h->mask)[at])
                    hide(j, h->scores, i);
            } else if (j->wide) {
                ((double *)h->scores)[i] += ((const double *)h->mask)[at];
            } else {
                ((float *)h->scores)[i] += ((const float *)h->mask)[at];
            }
        }
}

static void compute_scores(const head *h)
{
    const job *j = h->j;

    scale_queries(h);
    product(j, h->scores, h->cols, h->rows, h->cols, j->width, (operand){h->queries, j->width, 1},
            (operand){h->k, 1, j->k->stride[2]}, false);
    if (j->mask)
        apply_mask(h);
    if (j->causal)
        hide_future(h);
}

/* --- one head --- */

static void set_block(head *h, int64_t first)
{
    const job *j = h->j;

    h->first = first;
    h->rows = j->n_queries - first < j->rows ? j->n_queries - first : j->rows;
    h->cols = j->causal && first + h->rows < j->n_keys ? first + h->rows : j->n_keys;
}

static head head_of(const job *j, int64_t i, char *room)
{
    head h = {
        .j = j, .q = matrix(j, j->q, i), .k = matrix(j, j->k, i), .v = matrix(j, j->v, i), .out = matrix(j, j->out, i)};
    int64_t size = itemsize(j), n = j->q->size[1];

    h.lse = matrix(j, j->lse, i);
    if (j->mask)
        h.mask = mt_tensor_const_data(j->mask) +
                 (i / n * j->mask_stride[0] + i % n * j->mask_stride[1]) * (int64_t)mt_tensor_itemsize(j->mask);
    h.queries = room;
    h.scores = h.queries + j->rows * j->width * size;
    h.slopes = h.scores + j->rows * j->n_keys * size;
    h.delta = h.slopes + (j->grad ? j->rows * j->n_keys * size : 0);
    return h;
}

static void forward_head(head *h)
{
    const job *j = h->j;

    for (int64_t first = 0; first < j->n_queries; first += j->rows) {
        char *lse;

        set_block(h, first);
        compute_scores(h);
        lse = h->lse + first * itemsize(j);
        if (j->wide)
            MT_ISA_PICK(mt_attention_weights_f64)((double *)h->scores, h->rows, h->cols, (double *)lse);
        else
            MT_ISA_PICK(mt_attention_weights_f32)((float *)h->scores, h->rows, h->cols, (float *)lse);
        product(j, (char *)(uintptr_t)row_of(h, h->out, j->out, first), j->out->stride[2], h->rows, j->width, h->cols,
                (operand){h->scores, h->cols, 1}, (operand){h->v, j->v->stride[2], 1}, false);
    }
}

/* delta: for each row the product of the result and its gradient. */
static void compute_delta(const head *h)
{
    const job *j = h->j;
    const char *o = row_of(h, h->out, j->out, h->first), *g = row_of(h, h->grad, j->grad, h->first);
    int64_t o_row = j->out->stride[2], g_row = j->grad->stride[2];

    if (j->wide)
        MT_ISA_PICK(mt_attention_delta_f64)((double *)h->delta, (const double *)o, o_row, (const double *)g, g_row,
                                            h->rows, j->width);
    else
        MT_ISA_PICK(mt_attention_delta_f32)((float *)h->delta, (const float *)o, o_row, (const float *)g, g_row,
                                            h->rows, j->width);
}

static void backward_block(const head *h)
{
    const job *j = h->j;
    const char *grad = row_of(h, h->grad, j->grad, h->first), *lse = h->lse + h->first * itemsize(j);
    int64_t g_row = j->grad->stride[2], n = h->rows * h->cols;

    compute_scores(h);
    compute_delta(h);
    if (j->wide)
        MT_ISA_PICK(mt_attention_again_f64)((double *)h->scores, h->rows, h->cols, (const double *)lse);
    else
        MT_ISA_PICK(mt_attention_again_f32)((float *)h->scores, h->rows, h->cols, (const float *)lse);
    product(j, h->dv, j->dv->stride[2], h->cols, j->width, h->rows, (operand){h->scores, 1, h->cols},
            (operand){grad, g_row, 1}, true);
    product(j, h->slopes, h->cols, h->rows, h->cols, j->width, (operand){grad, g_row, 1},
            (operand){h->v, 1, j->v->stride[2]}, false);
    if (j->wide)
        MT_ISA_PICK(mt_attention_slopes_f64)((double *)h->slopes, (const double *)h->scores, n / h->cols, h->cols,
                                             (const double *)h->delta, j->scale);
    else
        MT_ISA_PICK(mt_attention_slopes_f32)((float *)h->slopes, (const float *)h->scores, n / h->cols, h->cols,
                                             (const float *)h->delta, (float)j->scale);
    product(j, (char *)(uintptr_t)row_of(h, h->dq, j->dq, h->first), j->dq->stride[2], h->rows, j->width, h->cols,
            (operand){h->slopes, h->cols, 1}, (operand){h->k, j->k->stride[2], 1}, false);
    product(j, h->dk, j->dk->stride[2], h->cols, j->width, h->rows, (operand){h->slopes, 1, h->cols},
            (operand){row_of(h, h->q, j->q, h->first), j->q->stride[2], 1}, true);
}

static void backward_head(head *h, int64_t i)
{
    const job *j = h->j;

    h->grad = matrix(j, j->grad, i);
    h->dq = matrix(j, j->dq, i);
    h->dk = matrix(j, j->dk, i);
    h->dv = matrix(j, j->dv, i);
    for (int64_t r = 0; r < j->n_keys; r++) {
        memset(h->dk + r * j->dk->stride[2] * itemsize(j), 0, (size_t)(j->width * itemsize(j)));
        memset(h->dv + r * j->dv->stride[2] * itemsize(j), 0, (size_t)(j->width * itemsize(j)));
    }
    for (int64_t first = 0; first < j->n_queries; first += j->rows) {
        set_block(h, first);
        backward_block(h);
    }
}

static void run_task(void *ctx, int64_t begin, int64_t end)
{
    const job *j = ctx;

    for (int64_t task = begin; task < end; task++) {
        char *room = j->room + task * j->task_bytes;

        for (int64_t i = j->n_heads * task / j->n_tasks; i < j->n_heads * (task + 1) / j->n_tasks; i++) {
            head h = head_of(j, i, room);

            if (j->grad)
                backward_head(&h, i);
            else
                forward_head(&h);
        }
    }
}

/* --- all heads --- */

/* Strides of the mask as if it had the shape of the scores. */
static void spread_mask(job *j)
{
    const mt_tensor *m = j->mask;

    memset(j->mask_stride, 0, sizeof(j->mask_stride));
    for (int i = 0; m && i < m->ndim; i++)
        if (m->size[i] != 1)
            j->mask_stride[4 - m->ndim + i] = m->stride[i];
}

static int run(job *j, bool causal, const double *scale)
{
    int64_t words, most;
    void *room = NULL;
    double work;
    int rc = -1;

    j->n_queries = j->q->size[2];
    j->n_keys = j->k->size[2];
    j->width = j->q->size[3];
    j->n_heads = j->q->size[0] * j->q->size[1];
    j->causal = causal;
    j->wide = j->q->dtype == MT_DTYPE_f64;
    j->scale = scale ? *scale : 1.0 / sqrt((double)j->width);
    most = BLOCK_SCORES / j->n_keys;
    j->rows = causal ? CAUSAL_ROWS : BLOCK_ROWS;
    j->rows = j->rows < most ? j->rows : most < 8 ? 8 : most;
    j->rows = j->rows < j->n_queries ? j->rows : j->n_queries;
    spread_mask(j);
    j->n_tasks = mt_get_num_threads() < j->n_heads ? mt_get_num_threads() : j->n_heads;
    MT_REQUIRE(!mt_mul_overflow(j->n_keys * 2 + j->width + 1, j->rows, &words) &&
                   !mt_mul_overflow(words, 8 * j->n_tasks, &words),
               MT_ERR_RUNTIME, "scaled_dot_product_attention: the sequences are too long");
    j->task_bytes = (words / j->n_tasks + 63) / 64 * 64;
    MT_TRY(mt_malloc(&room, (size_t)(j->task_bytes * j->n_tasks)));
    j->room = room;
    work = 4.0 * (double)j->n_queries * (double)j->n_keys * (double)j->width / 50.0;
    mt_parallel_for(j->n_tasks, work * (double)j->n_heads / (double)j->n_tasks * (j->grad ? 2.5 : 1), 1, run_task, j);
    rc = 0;
fail:
    mt_free(room);
    return rc;
}

int mt_cpu_flash_attention(mt_tensor *output, mt_tensor *logsumexp, mt_tensor *query, mt_tensor *key, mt_tensor *value,
                           double dropout_p, bool is_causal, mt_tensor *attn_mask, const double *scale)
{
    job j = {.q = query, .k = key, .v = value, .mask = attn_mask, .out = output, .lse = logsumexp};

    (void)dropout_p;
    return run(&j, is_causal, scale);
}

int mt_cpu_flash_attention_backward(mt_tensor *dq, mt_tensor *dk, mt_tensor *dv, mt_tensor *grad_out, mt_tensor *query,
                                    mt_tensor *key, mt_tensor *value, mt_tensor *out, mt_tensor *logsumexp,
                                    bool is_causal, mt_tensor *attn_mask, const double *scale)
{
    mt_tensor *grad = NULL;
    job j = {.q = query,
             .k = key,
             .v = value,
             .mask = attn_mask,
             .out = out,
             .lse = logsumexp,
             .dq = dq,
             .dk = dk,
             .dv = dv};
    int rc = -1;

    if (grad_out->stride[3] == 1 || grad_out->size[3] == 1)
        grad = mt_tensor_ref(grad_out);
    else
        MT_TRY(mt_arg_contiguous(&grad, grad_out));
    j.grad = grad;
    MT_TRY(run(&j, is_causal, scale));
    rc = 0;
fail:
    mt_tensor_clear(&grad);
    return rc;
}
