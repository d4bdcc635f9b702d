/* SPDX-License-Identifier: BSD-3-Clause */
/* A runtime of a few lines for the compiled formulas of tests/codegen/catalog: it counts live tensors and lets the
   n-th fallible call fail. main runs every backward function and the composite with each call failing in turn,
   and checks that nothing leaks and that failures are reported. No arithmetic happens. */
#include <stdio.h>
#include <stdlib.h>

#include "autograd/node.h"
#include "core/op.h"

#include "ops.h"
#include "tables.h"

static int live, countdown;
static bool failed;
mt_wrapper_hooks mt_wrapper;
const mt_dtype_traits mt_dtype_table[MT_DTYPE_COUNT];

static int step(void)
{
    if (countdown > 0 && --countdown == 0) {
        failed = true;
        return -1;
    }
    return 0;
}

static mt_tensor *make(void)
{
    mt_tensor *t = calloc(1, sizeof(*t));

    mt_refcount_init(&t->refs);
    t->size = t->inline_dims;
    t->stride = t->inline_dims + MT_INLINE_DIM;
    live++;
    return t;
}

static int fresh(mt_tensor **out)
{
    *out = NULL;
    if (step() < 0)
        return -1;
    *out = make();
    return 0;
}

void mt_tensor_destroy(mt_tensor *t)
{
    live--;
    free(t);
}

int mt_error_set(mt_error_kind kind, const char *format, ...)
{
    (void)kind, (void)format;
    failed = true;
    return -1;
}

double mt_scalar_to_double(mt_scalar s)
{
    return s.v.d;
}

mt_c128 mt_scalar_to_complex(mt_scalar s)
{
    return (mt_c128){s.v.d, 0};
}

int mt_tensor_from_scalar(mt_tensor **out, mt_scalar s)
{
    (void)s;
    return fresh(out);
}

int mt_tensor_list_new(mt_tensor_list *out, int n)
{
    *out = (mt_tensor_list){NULL, 0};
    if (step() < 0)
        return -1;
    *out = (mt_tensor_list){calloc((size_t)n, sizeof(mt_tensor *)), n};
    return 0;
}

void mt_tensor_list_clear(mt_tensor_list *list)
{
    for (int i = 0; i < list->n; i++)
        mt_tensor_clear(&list->data[i]);
    free(list->data);
    *list = (mt_tensor_list){NULL, 0};
}

int mt_saved_tensor(mt_tensor **out, mt_node *n, int k)
{
    (void)n, (void)k;
    return fresh(out);
}

int mt_node_zeros(mt_tensor **out, mt_node *n, int k)
{
    (void)n, (void)k;
    return fresh(out);
}

/* --- the ops that the formulas call --- */

int mt_mul(mt_tensor **out, mt_tensor *a, mt_tensor *b)
{
    return a && b ? fresh(out) : -1;
}

int mt_div(mt_tensor **out, mt_tensor *a, mt_tensor *b)
{
    return a && b ? fresh(out) : -1;
}

int mt_add(mt_tensor **out, mt_tensor *a, mt_tensor *b)
{
    return a && b ? fresh(out) : -1;
}

int mt_flip(mt_tensor **out, mt_tensor *a, mt_ints dims)
{
    return a && dims.n == 1 ? fresh(out) : -1;
}

int mt_cumsum(mt_tensor **out, mt_tensor *a, int64_t dim, mt_dtype dtype)
{
    (void)dim;
    return a && dtype == MT_DTYPE_NONE ? fresh(out) : -1;
}

int mt_sum_backward(mt_tensor **out, mt_tensor *grad, mt_ints sizes, mt_ints dim, bool keepdim)
{
    (void)sizes, (void)dim, (void)keepdim;
    return grad ? fresh(out) : -1;
}

int mt_spread(mt_tensor **out, mt_tensor *grad, mt_tensor *indices, mt_ints sizes, int64_t dim)
{
    (void)sizes, (void)dim;
    return grad && indices ? fresh(out) : -1;
}

int mt_stack_grads(mt_tensor **out, mt_tensors grads, int64_t dim)
{
    (void)dim;
    return grads.n > 0 ? fresh(out) : -1;
}

int mt_cat_backward(mt_tensor_list *out, mt_tensor *grad, mt_ints shapes, int64_t dim)
{
    (void)shapes, (void)dim;
    if (!grad || mt_tensor_list_new(out, 3) < 0)
        return -1;
    for (int i = 0; i < 3; i++)
        out->data[i] = make();
    return 0;
}

int mt_norm_stats_backward(mt_tensor **out0, mt_tensor **out1, mt_tensor **out2, mt_tensor *grad, mt_tensor *input,
                           mt_tensor *weight, mt_tensor *stats, mt_ints mask)
{
    (void)weight;
    *out0 = *out1 = *out2 = NULL;
    if (!grad || !input || !stats || mask.n != 3 || step() < 0)
        return -1;
    *out0 = make();
    *out1 = make();
    *out2 = make();
    return 0;
}

/* --- the trials --- */

enum { MAX_EDGES = 3 };

static int run_backward(const mt_grad *grad, int n_edges, int n_inputs)
{
    mt_node node = {0}, other = {0};
    mt_edge edge[MAX_EDGES] = {{0}};
    mt_saved saved[8];
    mt_input_meta meta[2] = {{0}};
    mt_tensor *grads[2] = {make(), n_inputs == 2 ? NULL : make()}, *out[MAX_EDGES] = {NULL};
    int rc;

    for (int i = 0; i < n_edges; i++)
        edge[i].node = &other;
    for (size_t i = 0; i < 8; i++) {
        saved[i] = (mt_saved){0};
        saved[i].value.kind = MT_ARG_NONE;
    }
    node.edge = edge;
    node.saved = saved;
    node.input = meta;
    node.n_edges = (uint16_t)n_edges;
    node.n_inputs = (uint16_t)n_inputs;
    rc = grad->backward(&node, grads, out);
    for (int i = 0; i < n_edges; i++) {
        if (rc == 0 && !out[i])
            printf("%s: edge %d has no gradient\n", grad->node_name, i);
        if (rc < 0 && grad->n_inputs == 1 && out[i])
            printf("%s: a failed line left a gradient\n", grad->node_name);
        mt_tensor_clear(&out[i]);
    }
    mt_tensor_clear(&grads[0]);
    mt_tensor_clear(&grads[1]);
    return rc;
}

static int run_composite(bool weight, bool factor, const char *mode)
{
    mt_tensor *self = make(), *w = weight ? make() : NULL, *out = NULL;
    mt_scalar two = mt_scalar_from_int(2);
    int rc = mt_expr_lift(&out, self, w, factor ? &two : NULL, mode);

    if ((rc == 0) != (out != NULL))
        printf("lift: result and status differ\n");
    mt_tensor_clear(&out);
    mt_tensor_clear(&self);
    mt_tensor_clear(&w);
    return rc;
}

/* One trial with the n-th call failing; 0 when all went well, 1 when the failure never came. */
static int check(const char *name, int rc, int n)
{
    if (live != 0 || (rc < 0) != failed) {
        printf("%s, call %d: status %d, failed %d, live %d\n", name, n, rc, failed, live);
        exit(1);
    }
    return failed;
}

int main(void)
{
    static const struct {
        const mt_grad *grad;
        int n_edges, n_inputs;
    } grads[] = {{&mt_grad_hypot, 2, 1},       {&mt_grad_sum, 1, 1},        {&mt_grad_cumsum, 1, 1},
                 {&mt_grad_expand, 1, 1},      {&mt_grad_max, 1, 2},        {&mt_grad_mul, 2, 1},
                 {&mt_grad_cat, 3, 1},         {&mt_grad_norm_stats, 3, 2}, {&mt_grad_unbind, 1, 2},
                 {&mt_grad_fill_inplace, 1, 1}};
    int trials = 0;

    for (size_t i = 0; i < sizeof(grads) / sizeof(grads[0]); i++)
        for (int n = 1;; n++, trials++) {
            countdown = n;
            failed = false;
            if (!check(grads[i].grad->node_name, run_backward(grads[i].grad, grads[i].n_edges, grads[i].n_inputs), n))
                break;
        }
    for (int k = 0; k < 12; k++)
        for (int n = 1; n < 20; n++, trials++) {
            const char *mode = k / 4 == 0 ? "none" : k / 4 == 1 ? "double" : "other";

            countdown = n;
            failed = false;
            check("lift", run_composite(k & 1, k & 2, mode), n);
        }
    printf("%d trials\n", trials);
    return trials > 100 ? 0 : 1;
}
