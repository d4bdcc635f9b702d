/* SPDX-License-Identifier: BSD-3-Clause */
/* Decompositions of batches of matrices by LAPACK, one matrix after another. Meta rules have checked shapes and dtypes and
   made the results column-major, as LAPACK writes them; a temporary stands in for any other memory order. */
#include <limits.h>
#include <string.h>

#include "base/alloc.h"
#include "core/op.h"
#include "core/shape.h"
#include "cpu/cpu_internal.h"
#include "cpu/lapack.h"
#include "kernels.h"

/* The matrices of self as LAPACK wants them, columns contiguous: those of self itself or a copy. */
static int columns_of(mt_tensor **out, mt_tensor *self)
{
    int64_t size[MT_MAX_DIM], stride[MT_MAX_DIM];
    int n = self->ndim, rc = -1;
    mt_tensor *turned = NULL;

    MT_REQUIRE(self->size[n - 2] <= INT_MAX && self->size[n - 1] <= INT_MAX, MT_ERR_RUNTIME,
               "linalg: a matrix has more than 2**31 - 1 rows or columns");
    memcpy(size, self->size, (size_t)n * sizeof(size[0]));
    memcpy(stride, self->stride, (size_t)n * sizeof(size[0]));
    size[n - 2] = self->size[n - 1];
    size[n - 1] = self->size[n - 2];
    stride[n - 2] = self->stride[n - 1];
    stride[n - 1] = self->stride[n - 2];
    MT_TRY(mt_tensor_new_view(&turned, self, n, size, stride, self->offset));
    MT_TRY(mt_arg_contiguous(out, turned));
    rc = 0;
fail:
    mt_tensor_clear(&turned);
    return rc;
}

/* The first byte of matrix i. */
static char *matrix_at(mt_tensor *t, int64_t i)
{
    char *p = mt_tensor_mutable_data(t);

    for (int d = t->ndim - 3; d >= 0; d--) {
        p += i % t->size[d] * t->stride[d] * (int64_t)mt_tensor_itemsize(t);
        i /= t->size[d];
    }
    return p;
}

/* Column j of matrix i of t: `kept` numbers from src, zeros below. */
static void put_column(mt_tensor *t, char *matrix, int64_t j, const char *src, int64_t kept)
{
    static const char zeros[16];
    int64_t size = (int64_t)mt_tensor_itemsize(t), rows = t->size[t->ndim - 2], step = t->stride[t->ndim - 2] * size;
    char *dst = matrix + j * t->stride[t->ndim - 1] * size;

    kept = kept < rows ? kept : rows;
    mt_cpu_move(dst, step, src, size, kept, (int)size);
    mt_cpu_move(dst + kept * step, step, zeros, 0, rows - kept, (int)size);
}

static int64_t count_matrices(const mt_tensor *t)
{
    int64_t n = 1;

    for (int i = 0; i < t->ndim - 2; i++)
        n *= t->size[i];
    return n;
}

/* What a routine asked for in the first element of its work space. */
static int asked(const void *work, mt_dtype dtype)
{
    double n = dtype == MT_DTYPE_f32 || dtype == MT_DTYPE_c64 ? (double)*(const float *)work : *(const double *)work;

    return n >= 1 && n < INT_MAX - 64 ? (int)n + 1 : 1;
}

/* --- qr --- */

typedef void factor_fn(const int *m, const int *n, void *a, const int *lda, void *tau, void *work, const int *lwork,
                       int *info);
typedef void form_fn(const int *m, const int *n, const int *k, void *a, const int *lda, const void *tau, void *work,
                     const int *lwork, int *info);

typedef struct qr_job {
    int m, n, k, q_columns, r_rows;
    size_t size;
    factor_fn *factor;
    form_fn *form;
    char *a, *tau, *work;
    int room;
} qr_job;

static int prepare_qr(qr_job *job, mt_dtype dtype)
{
    bool is_complex = mt_dtype_is_complex(dtype);
    mt_lapack_fn factor, form;
    int most = job->n > job->q_columns ? job->n : job->q_columns, wanted, query = -1, info;
    char sample[16] = {0};
    size_t matrix, bytes;
    int rc = -1;

    MT_TRY(mt_lapack_find(&factor, "geqrf", dtype));
    MT_TRY(mt_lapack_find(&form, is_complex ? "ungqr" : "orgqr", dtype));
    job->factor = (factor_fn *)factor;
    job->form = (form_fn *)form;
    job->factor(&job->m, &job->n, sample, &job->m, sample, sample, &query, &info);
    job->room = asked(sample, dtype);
    if (job->q_columns > 0) {
        job->form(&job->m, &job->q_columns, &job->k, sample, &job->m, sample, sample, &query, &info);
        wanted = asked(sample, dtype);
        job->room = wanted > job->room ? wanted : job->room;
    }
    MT_REQUIRE(!__builtin_mul_overflow((size_t)job->m, (size_t)most, &matrix) &&
                   !__builtin_add_overflow(matrix, (size_t)job->k + (size_t)job->room, &matrix) &&
                   !__builtin_mul_overflow(matrix, job->size, &bytes),
               MT_ERR_RUNTIME, "linalg.qr: the matrix is too large");
    MT_TRY(mt_malloc((void **)&job->a, bytes));
    job->tau = job->a + (size_t)job->m * (size_t)most * job->size;
    job->work = job->tau + (size_t)job->k * job->size;
    rc = 0;
fail:
    return rc;
}

/* One matrix: R is the upper triangle of what geqrf leaves, Q is formed from the rest. */
static void factor_one(qr_job *job, mt_tensor *Q, mt_tensor *R, const char *a, int64_t i)
{
    size_t column = (size_t)job->m * job->size;
    char *r = matrix_at(R, i), *q;
    int info;

    memcpy(job->a, a, column * (size_t)job->n);
    job->factor(&job->m, &job->n, job->a, &job->m, job->tau, job->work, &job->room, &info);
    for (int j = 0; j < job->n; j++)
        put_column(R, r, j, job->a + (size_t)j * column, j + 1);
    if (job->q_columns == 0)
        return;
    q = matrix_at(Q, i);
    job->form(&job->m, &job->q_columns, &job->k, job->a, &job->m, job->tau, job->work, &job->room, &info);
    for (int j = 0; j < job->q_columns; j++)
        put_column(Q, q, j, job->a + (size_t)j * column, job->m);
}

int mt_cpu_linalg_qr(mt_tensor *Q, mt_tensor *R, mt_tensor *A, const char *mode)
{
    int n = A->ndim, rc = -1;
    int64_t count = count_matrices(A), matrix;
    mt_tensor *columns = NULL;
    qr_job job = {.size = mt_tensor_itemsize(A)};

    MT_TRY(columns_of(&columns, A));
    job.m = (int)A->size[n - 2];
    job.n = (int)A->size[n - 1];
    job.k = job.m < job.n ? job.m : job.n;
    job.q_columns = strcmp(mode, "r") == 0 ? 0 : (int)Q->size[n - 1];
    if (job.m == 0 || count == 0 || (job.k == 0 && job.q_columns == 0)) {
        mt_tensor_clear(&columns);
        return 0;
    }
    if (mt_lapack_begin("linalg.qr") < 0)
        goto fail;
    if (prepare_qr(&job, (mt_dtype)A->dtype) == 0) {
        matrix = (int64_t)job.m * job.n * (int64_t)job.size;
        for (int64_t i = 0; i < count; i++)
            factor_one(&job, Q, R, (const char *)mt_tensor_const_data(columns) + i * matrix, i);
        rc = 0;
    }
    mt_lapack_end();
fail:
    mt_free(job.a);
    mt_tensor_clear(&columns);
    return rc;
}

/* --- svd --- */

typedef void svd_fn(const char *jobz, const int *m, const int *n, void *a, const int *lda, void *s, void *u,
                    const int *ldu, void *vt, const int *ldvt, void *work, const int *lwork, int *iwork, int *info,
                    size_t jobz_length);
typedef void complex_svd_fn(const char *jobz, const int *m, const int *n, void *a, const int *lda, void *s, void *u,
                            const int *ldu, void *vt, const int *ldvt, void *work, const int *lwork, void *rwork,
                            int *iwork, int *info, size_t jobz_length);

typedef struct svd_job {
    int m, n, k, room;
    size_t size, real_size;
    char which; /* 'S': the first k columns of U and rows of Vh; 'N': neither */
    bool is_complex;
    mt_lapack_fn fn;
    char *a, *u, *vt, *s, *work, *rwork;
    int *iwork;
} svd_job;

static int call_svd(const svd_job *job, void *work, int room)
{
    int info = 0, k = job->k > 0 ? job->k : 1;

    if (job->is_complex)
        ((complex_svd_fn *)job->fn)(&job->which, &job->m, &job->n, job->a, &job->m, job->s, job->u, &job->m, job->vt,
                                    &k, work, &room, job->rwork, job->iwork, &info, 1);
    else
        ((svd_fn *)job->fn)(&job->which, &job->m, &job->n, job->a, &job->m, job->s, job->u, &job->m, job->vt, &k, work,
                            &room, job->iwork, &info, 1);
    return info;
}

/* rwork of the complex routine: what its documentation asks for, for both kinds. */
static double real_room(const svd_job *job)
{
    double low = job->k, high = job->m > job->n ? job->m : job->n;
    double a = 5 * low * low + 7 * low, b = 2 * high * low + 2 * low * low + low;

    return job->is_complex ? (a > b ? a : b) + 64 : 0;
}

static int prepare_svd(svd_job *job, mt_dtype dtype)
{
    double m = job->m, n = job->n, k = job->k, size = (double)job->size;
    double matrix = m * n * size, left = m * k * size, right = k * n * size, values = k * (double)job->real_size;
    double rwork = real_room(job) * (double)job->real_size, total;
    char sample[16] = {0};
    char *p;
    int rc = -1;

    MT_TRY(mt_lapack_find(&job->fn, "gesdd", dtype));
    job->a = job->u = job->vt = job->s = job->rwork = sample;
    job->iwork = (int *)(void *)sample;
    call_svd(job, sample, -1);
    job->room = asked(sample, dtype);
    total = matrix + left + right + values + rwork + 32 * k + job->room * size + 7 * 16;
    job->a = NULL;
    MT_REQUIRE(total < (double)(INT64_MAX / 2), MT_ERR_RUNTIME, "linalg.svd: the matrix is too large");
    MT_TRY(mt_malloc((void **)&job->a, (size_t)total));
    p = job->a;
    p += ((size_t)matrix + 15) & ~(size_t)15;
    job->u = p;
    p += ((size_t)left + 15) & ~(size_t)15;
    job->vt = p;
    p += ((size_t)right + 15) & ~(size_t)15;
    job->s = p;
    p += ((size_t)values + 15) & ~(size_t)15;
    job->rwork = p;
    p += ((size_t)rwork + 15) & ~(size_t)15;
    job->iwork = (int *)(void *)p;
    p += ((size_t)(32 * k) + 15) & ~(size_t)15;
    job->work = p;
    rc = 0;
fail:
    return rc;
}

static int decompose_one(svd_job *job, mt_tensor *const result[3], const char *a, int64_t i)
{
    mt_tensor *S = result[1];
    size_t column = (size_t)job->m * job->size;
    int64_t step = S->stride[S->ndim - 1] * (int64_t)job->real_size, at = i;
    char *s = mt_tensor_mutable_data(S);
    int info;

    for (int d = S->ndim - 2; d >= 0; d--) {
        s += at % S->size[d] * S->stride[d] * (int64_t)job->real_size;
        at /= S->size[d];
    }
    memcpy(job->a, a, column * (size_t)job->n);
    info = call_svd(job, job->work, job->room);
    if (info == -4)
        return mt_error_set(
            MT_ERR_LINALG,
            "linalg.svd: (Batch element %lld): The algorithm failed to converge because the input matrix "
            "contained non-finite values.",
            (long long)i);
    if (info != 0)
        return mt_error_set(
            MT_ERR_LINALG,
            "linalg.svd: (Batch element %lld): The algorithm failed to converge because the input matrix "
            "is ill-conditioned or has too many repeated singular values (error code: %d).",
            (long long)i, info);
    mt_cpu_move(s, step, job->s, (int64_t)job->real_size, job->k, (int)job->real_size);
    if (job->which == 'N')
        return 0;
    for (int j = 0; j < job->k; j++)
        put_column(result[0], matrix_at(result[0], i), j, job->u + (size_t)j * column, job->m);
    for (int j = 0; j < job->n; j++)
        put_column(result[2], matrix_at(result[2], i), j, job->vt + (size_t)j * (size_t)job->k * job->size, job->k);
    return 0;
}

static int decompose(mt_tensor *A, mt_tensor *U, mt_tensor *S, mt_tensor *Vh)
{
    int n = A->ndim, rc = -1;
    int64_t count = count_matrices(A), matrix;
    mt_tensor *columns = NULL, *const result[3] = {U, S, Vh};
    svd_job job = {.size = mt_tensor_itemsize(A), .real_size = mt_tensor_itemsize(S), .which = U ? 'S' : 'N'};

    MT_TRY(columns_of(&columns, A));
    job.m = (int)A->size[n - 2];
    job.n = (int)A->size[n - 1];
    job.k = job.m < job.n ? job.m : job.n;
    job.is_complex = mt_dtype_is_complex((mt_dtype)A->dtype);
    if (job.k == 0 || count == 0) {
        mt_tensor_clear(&columns);
        return 0;
    }
    if (mt_lapack_begin("linalg.svd") < 0)
        goto fail;
    rc = prepare_svd(&job, (mt_dtype)A->dtype);
    matrix = (int64_t)job.m * job.n * (int64_t)job.size;
    for (int64_t i = 0; rc == 0 && i < count; i++)
        rc = decompose_one(&job, result, (const char *)mt_tensor_const_data(columns) + i * matrix, i);
    mt_lapack_end();
fail:
    mt_free(job.a);
    mt_tensor_clear(&columns);
    return rc;
}

int mt_cpu_thin_svd(mt_tensor *U, mt_tensor *S, mt_tensor *Vh, mt_tensor *A)
{
    return decompose(A, U, S, Vh);
}

int mt_cpu_linalg_svdvals(mt_tensor *S, mt_tensor *A, const char *driver)
{
    (void)driver;
    return decompose(A, NULL, S, NULL);
}
