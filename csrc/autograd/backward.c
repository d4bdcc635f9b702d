/* SPDX-License-Identifier: BSD-3-Clause */
/* The front door of the engine: checks what backward and autograd.grad were given, makes the
   implicit gradients, turns tensors into edges, and looks at the results. */
#include "autograd/engine_internal.h"

#include <string.h>

#include "base/alloc.h"
#include "base/strbuf.h"
#include "core/shape.h"

#define INLINE_ROOTS 4
#define INLINE_CAPTURES 8

/* --- gradients of the roots --- */

static int implicit_gradient(mt_tensor **out, const mt_input_meta *m)
{
    int64_t stride[MT_MAX_DIM];
    int64_t numel = 1;
    int rc = -1;

    for (int i = 0; i < m->ndim; i++) {
        numel *= m->size[i];
        stride[i] = 1;
        if (numel != 1)
            break;
    }
    MT_REQUIRE(numel == 1, MT_ERR_RUNTIME, "grad can be implicitly created only for scalar outputs");
    MT_REQUIRE(mt_dtype_is_float((mt_dtype)m->dtype), MT_ERR_RUNTIME,
               "grad can be implicitly created only for real scalar outputs but got torch.%s",
               mt_dtype_name((mt_dtype)m->dtype));
    MT_TRY(mt_tensor_full_0d(out, mt_scalar_from_double(1.0), (mt_dtype)m->dtype, m->device));
    if (m->ndim)
        MT_TRY(mt_tensor_set_geometry(*out, m->ndim, m->size, stride, 0));
    rc = 0;
fail:
    return rc;
}

static int check_gradient(const mt_tensor *g, const mt_input_meta *m, int index)
{
    mt_shape_text got, expected;
    int rc = -1;

    MT_REQUIRE(mt_shape_equal(g->ndim, g->size, m->ndim, m->size), MT_ERR_RUNTIME,
               "Mismatch in shape: grad_output[%d] has a shape of torch.Size(%s) and output[%d] "
               "has a shape of torch.Size(%s).",
               index, mt_shape_format(&got, g->size, g->ndim), index, mt_shape_format(&expected, m->size, m->ndim));
    MT_REQUIRE(mt_dtype_is_complex((mt_dtype)g->dtype) == mt_dtype_is_complex((mt_dtype)m->dtype), MT_ERR_RUNTIME,
               "For complex Tensors, both grad_output and output are required to have the same "
               "dtype. Mismatch in dtype: grad_output[%d] has a dtype of torch.%s and output[%d] "
               "has a dtype of torch.%s.",
               index, mt_dtype_name((mt_dtype)g->dtype), index, mt_dtype_name((mt_dtype)m->dtype));
    rc = 0;
fail:
    return rc;
}

static mt_input_meta meta_of_endpoint(const mt_endpoint *e)
{
    if (e->tensor)
        return (mt_input_meta){e->tensor->size, e->tensor->ndim, e->tensor->dtype, e->tensor->device, true};
    return mt_node_input(e->node, (int)e->input);
}

/* The edge is owned; an output number is one of the node's. */
static int edge_of_endpoint(mt_edge *out, const mt_endpoint *e)
{
    *out = (mt_edge){NULL, 0};
    if (e->tensor)
        return mt_autograd_edge(out, e->tensor);
    *out = (mt_edge){mt_node_ref(e->node), e->input};
    return 0;
}

static int set_root(mt_run *run, mt_tensor **grads, int i, const mt_endpoint *output, mt_tensor *given)
{
    mt_input_meta m, want;
    int rc = -1;

    MT_REQUIRE(!output->tensor || mt_tensor_requires_grad(output->tensor), MT_ERR_RUNTIME,
               "element %d of tensors does not require grad and does not have a grad_fn", i);
    MT_TRY(edge_of_endpoint(&run->root[i], output));
    MT_REQUIRE(run->root[i].node, MT_ERR_RUNTIME,
               "element %d of tensors does not require grad and does not have a grad_fn", i);
    m = meta_of_endpoint(output);
    if (!given) {
        MT_TRY(implicit_gradient(&grads[i], &m));
    } else {
        MT_TRY(check_gradient(given, &m, i));
        grads[i] = mt_tensor_ref(given);
    }
    want = mt_node_input(run->root[i].node, (int)run->root[i].input);
    if (!mt_gradient_fits(grads[i], &want))
        MT_TRY(mt_gradient_fit(&grads[i], NULL, i, &want));
    rc = 0;
fail:
    return rc;
}

/* --- inputs --- */

static int set_input(mt_run *run, int i, const mt_endpoint *input)
{
    mt_tensor *t = input->tensor;
    mt_node *fn = NULL;
    int rc = -1;

    run->capture[i] = (mt_capture){{NULL, 0}, -1};
    if (t) {
        if ((run->flags & MT_RUN_ACCUMULATE) && !mt_tensor_requires_grad(t))
            return mt_autograd_retain_grad(t); /* its error */
        MT_REQUIRE(mt_tensor_requires_grad(t), MT_ERR_RUNTIME,
                   "One of the differentiated Tensors does not require grad");
        MT_TRY(mt_autograd_grad_fn(&fn, t));
        if (fn && (run->flags & MT_RUN_ACCUMULATE))
            MT_TRY(mt_autograd_retain_grad(t));
        if (!fn && (!t->autograd || !t->autograd->accumulator || t->autograd->idle_accumulator))
            return 0; /* nothing was computed from this leaf */
    }
    MT_TRY(edge_of_endpoint(&run->capture[i].edge, input));
    rc = 0;
fail:
    return rc;
}

static int check_results(mt_run *run, const mt_endpoint *input)
{
    int rc = -1;

    for (int i = 0; i < run->n_captures; i++) {
        mt_tensor *t = input[i].tensor;

        if (run->result[i])
            continue;
        if (run->flags & MT_RUN_MATERIALIZE) {
            MT_REQUIRE(t, MT_ERR_RUNTIME, "materialize_grads cannot be used when the given input is a GradientEdge");
            MT_TRY(mt_tensor_new_zeroed(&run->result[i], (mt_dtype)t->dtype, t->ndim, t->size, t->device));
            continue;
        }
        MT_REQUIRE(run->flags & MT_RUN_ALLOW_UNUSED, MT_ERR_RUNTIME,
                   "The differentiated Tensor at index %d appears to not have been used in the "
                   "graph. Set allow_unused=True if this is the desired behavior.",
                   i);
    }
    rc = 0;
fail:
    return rc;
}

/* --- the call --- */

static int warn_cycle(void)
{
    static bool done;

    return mt_warn_once(&done, MT_WARN_USER,
                        "Using backward() with create_graph=True will create a reference cycle "
                        "between the parameter and its gradient which can cause a memory leak. We "
                        "recommend using autograd.grad when creating the graph to avoid this. If "
                        "you have to use this function, make sure to reset the .grad fields of "
                        "your parameters to None after use to break the cycle and avoid the leak.");
}

/* `few` serves when it is large enough. */
static int zeroed_block(void **out, void *few, int n, int n_few, size_t size)
{
    *out = few;
    if (n > n_few)
        return mt_calloc(out, (size_t)n, size);
    memset(few, 0, (size_t)(n > 0 ? n : 0) * size);
    return 0;
}

static int prepare_and_execute(mt_run *run, mt_tensor **grads, const mt_endpoint *output, mt_tensor *const *given,
                               const mt_endpoint *input)
{
    int rc = -1;

    for (int i = 0; i < run->n_roots; i++)
        MT_TRY(set_root(run, grads, i, &output[i], given ? given[i] : NULL));
    for (int i = 0; i < run->n_captures; i++)
        MT_TRY(set_input(run, i, &input[i]));
    if ((run->flags & MT_RUN_ACCUMULATE) && (run->flags & MT_RUN_CREATE_GRAPH))
        MT_TRY(warn_cycle());
    MT_TRY(mt_run_execute_nested(run, grads));
    if (!(run->flags & MT_RUN_ACCUMULATE))
        MT_TRY(check_results(run, input));
    rc = 0;
fail:
    return rc;
}

int mt_engine_run(mt_tensor **result, const mt_endpoint *output, mt_tensor *const *grad, int n_outputs,
                  const mt_endpoint *input, int n_inputs, unsigned flags)
{
    mt_tensor *few_grads[INLINE_ROOTS];
    mt_edge few_roots[INLINE_ROOTS];
    mt_capture few_captures[INLINE_CAPTURES];
    void *grads = few_grads, *roots = few_roots, *captures = few_captures;
    int n_captures = n_inputs > 0 ? n_inputs : 0;
    mt_run run;
    int rc = -1;

    memset(&run, 0, offsetof(mt_run, inline_ready));
    run.flags = flags;
    run.selective = n_inputs >= 0;
    run.result = result;
    for (int i = 0; result && i < n_captures; i++)
        result[i] = NULL;
    MT_TRY(zeroed_block(&grads, few_grads, n_outputs, INLINE_ROOTS, sizeof(mt_tensor *)));
    MT_TRY(zeroed_block(&roots, few_roots, n_outputs, INLINE_ROOTS, sizeof(mt_edge)));
    run.root = roots;
    run.n_roots = n_outputs;
    MT_TRY(zeroed_block(&captures, few_captures, n_captures, INLINE_CAPTURES, sizeof(mt_capture)));
    run.capture = captures;
    run.n_captures = n_captures;
    rc = prepare_and_execute(&run, grads, output, grad, input);
fail:
    for (int i = 0; run.root && i < n_outputs; i++) {
        mt_tensor_unref(((mt_tensor **)grads)[i]);
        mt_node_unref(run.root[i].node);
    }
    for (int i = 0; run.capture && i < n_captures; i++) {
        mt_node_unref(run.capture[i].edge.node);
        if (rc < 0 && result)
            mt_tensor_clear(&result[i]);
    }
    if (grads != few_grads)
        mt_free(grads);
    if (roots != few_roots)
        mt_free(roots);
    if (captures != few_captures)
        mt_free(captures);
    return rc;
}
