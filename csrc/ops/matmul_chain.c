/* SPDX-License-Identifier: BSD-3-Clause */
/* Products of several matrices: the order of multiplication with the fewest scalar products is found by dynamic
   programming over the sizes, then carried out by mm. The first and the last operand may be vectors. */
#include "base/alloc.h"
#include "base/strbuf.h"
#include "core/formula.h"
#include "ops.h"

/* Matrix i has dim[i] rows and dim[i + 1] columns; split[i * n + j] is where the product of i..j is cut. */
typedef struct chain {
    mt_tensor *const *factor;
    int n;
    double *cost;
    int64_t *dim;
    int *split;
} chain;

static int plan(chain *c)
{
    void *p = NULL;
    size_t n = (size_t)c->n;

    if (mt_calloc(&p, n * n, sizeof(double) + sizeof(int)) < 0)
        return -1;
    c->cost = p;
    c->split = (int *)(c->cost + n * n);
    if (mt_calloc(&p, n + 1, sizeof(int64_t)) < 0)
        return -1;
    c->dim = p;
    for (int i = 0; i < c->n; i++)
        c->dim[i] = c->factor[i]->size[0];
    c->dim[n] = c->factor[n - 1]->size[1];
    for (int length = 1; length < c->n; length++)
        for (int i = 0; i + length < c->n; i++) {
            int j = i + length;
            double best = -1;

            for (int k = i; k < j; k++) {
                double cost = c->cost[(size_t)i * n + (size_t)k] + c->cost[(size_t)(k + 1) * n + (size_t)j] +
                              (double)c->dim[i] * (double)c->dim[k + 1] * (double)c->dim[j + 1];

                if (best < 0 || cost < best) {
                    best = cost;
                    c->split[(size_t)i * n + (size_t)j] = k;
                }
            }
            c->cost[(size_t)i * n + (size_t)j] = best;
        }
    return 0;
}

/* The product of i..j. Depth is at most the number of factors. */
static int multiply(mt_tensor **out, const chain *c, int i, int j)
{
    mt_tensor *left = NULL, *right = NULL;
    int rc = -1, k;

    *out = NULL;
    if (i == j) {
        *out = mt_tensor_ref(c->factor[i]);
        return 0;
    }
    k = c->split[(size_t)i * (size_t)c->n + (size_t)j];
    MT_TRY(multiply(&left, c, i, k));
    MT_TRY(multiply(&right, c, k + 1, j));
    MT_TRY(mt_mm(out, left, right));
    rc = 0;
fail:
    mt_tensor_clear(&left);
    mt_tensor_clear(&right);
    return rc;
}

/* Matrices only. */
static int product_of(mt_tensor **out, mt_tensor *const *factor, int n)
{
    chain c = {factor, n, NULL, NULL, NULL};
    int rc = -1;

    *out = NULL;
    MT_TRY(plan(&c));
    MT_TRY(multiply(out, &c, 0, n - 1));
    rc = 0;
fail:
    mt_free(c.cost);
    mt_free(c.dim);
    return rc;
}

enum { MAX_FACTORS = 1024 };

static int check_factors(mt_tensors list, const char *op)
{
    int rc = -1;

    MT_REQUIRE(list.n <= MAX_FACTORS, MT_ERR_RUNTIME, "%s(): more than %d tensors", op, MAX_FACTORS);
    for (int i = 0; i + 1 < list.n; i++) {
        const mt_tensor *a = list.data[i], *b = list.data[i + 1];
        mt_shape_text left, right;

        MT_REQUIRE(a->size[a->ndim - 1] == b->size[0], MT_ERR_RUNTIME,
                   "%s(): tensors %d and %d with shapes %s and %s cannot be multiplied", op, i, i + 1,
                   mt_shape_format(&left, a->size, a->ndim), mt_shape_format(&right, b->size, b->ndim));
    }
    for (int i = 0; i < list.n; i++)
        MT_REQUIRE(list.data[i]->dtype == list.data[0]->dtype, MT_ERR_RUNTIME,
                   "%s(): all tensors must have be the same dtype but tensor 0 is %s and tensor %d %s", op,
                   mt_dtype_table[list.data[0]->dtype].legacy, i, mt_dtype_table[list.data[i]->dtype].legacy);
    rc = 0;
fail:
    return rc;
}

int mt_impl_linalg_multi_dot(mt_tensor **out, mt_tensors tensors)
{
    mt_tensor_list factors = {NULL, 0};
    mt_tensor *product = NULL;
    int64_t size[2];
    int n = tensors.n, ndim = 0, rc = -1;

    *out = NULL;
    MT_REQUIRE(n >= 2, MT_ERR_RUNTIME, "multi_dot(): expected at least 2 tensors but got %d", n);
    for (int i = 0; i < n; i++) {
        bool is_end = i == 0 || i == n - 1;

        MT_REQUIRE(tensors.data[i]->ndim == 2 || (is_end && tensors.data[i]->ndim == 1), MT_ERR_RUNTIME,
                   is_end ? "multi_dot(): the %s tensor must be 1D or 2D but got %dD"
                          : "multi_dot(): tensor %s must be 2D but got %dD",
                   i == 0   ? "first"
                   : is_end ? "last"
                            : "in the middle",
                   tensors.data[i]->ndim);
    }
    MT_TRY(check_factors(tensors, "multi_dot"));
    MT_TRY(mt_tensor_list_new(&factors, n));
    for (int i = 0; i < n; i++) {
        if (tensors.data[i]->ndim == 2)
            factors.data[i] = mt_tensor_ref(tensors.data[i]);
        else
            MT_TRY(mt_unsqueeze(&factors.data[i], tensors.data[i], i == 0 ? 0 : -1));
    }
    MT_TRY(product_of(&product, factors.data, n));
    if (tensors.data[0]->ndim == 2)
        size[ndim++] = product->size[0];
    if (tensors.data[n - 1]->ndim == 2)
        size[ndim++] = product->size[1];
    MT_TRY(mt_view(out, product, (mt_ints){size, ndim}));
    rc = 0;
fail:
    mt_tensor_list_clear(&factors);
    mt_tensor_clear(&product);
    return rc;
}

int mt_impl_chain_matmul(mt_tensor **out, mt_tensors matrices)
{
    static bool is_warned;
    int rc = -1;

    *out = NULL;
    MT_TRY(
        mt_warn_once(&is_warned, MT_WARN_USER,
                     "torch.chain_matmul is deprecated: use torch.linalg.multi_dot, which takes a list of two or more "
                     "tensors."));
    MT_REQUIRE(matrices.n > 0, MT_ERR_RUNTIME, "chain_matmul(): Expected one or more matrices");
    for (int i = 0; i < matrices.n; i++)
        MT_REQUIRE(matrices.data[i]->ndim == 2, MT_ERR_RUNTIME, "Tensor dimension is %d, expected 2 instead.",
                   matrices.data[i]->ndim);
    if (matrices.n == 1)
        return mt_clone(out, matrices.data[0], -1);
    MT_TRY(check_factors(matrices, "multi_dot"));
    rc = mt_linalg_multi_dot(out, matrices);
fail:
    return rc;
}
