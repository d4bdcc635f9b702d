/* SPDX-License-Identifier: BSD-3-Clause */
/* Adding gradients up: on their way to a node, and into .grad of a leaf. The first gradient of a
   leaf is taken over without a copy when nobody else can see its memory and its layout is that of
   the leaf; else it is cloned into that layout. Later ones are added in place, so .grad stays the
   same object, except while a graph of the backward pass is recorded. */
#include "autograd/autograd_internal.h"

#include <math.h>
#include <pthread.h>

#include "base/parallel.h"
#include "base/strbuf.h"
#include "ops.h"

#define NO_DISTURBANCE (MT_FLAG_CONJ | MT_FLAG_NEG | MT_FLAG_INFERENCE | MT_FLAG_WRAPPED_NUMBER)

bool mt_gradient_is_exclusive(const mt_tensor *t)
{
    if (mt_refcount_get(&t->refs) != 1 || (t->flags & NO_DISTURBANCE))
        return false;
    if (!t->base)
        return mt_refcount_get(&t->storage->refs) == 1;
    return mt_refcount_get(&t->base->refs) == 1 && mt_refcount_get(&t->storage->refs) == 2;
}

int mt_gradient_sum(mt_tensor **out, mt_tensor *a, mt_tensor *b)
{
    return mt_add(out, a, b, mt_scalar_from_int(1));
}

/* Not recorded; the short road serves most gradients. */
static int add_into(mt_tensor *into, mt_tensor *g)
{
    mt_tensor *out = into;
    int rc = mt_fast_binary(&out, &mt_op_table[MT_OP_add], into, g);

    if (rc)
        return rc < 0 ? -1 : 0;
    return mt_add_inplace(into, g, mt_scalar_from_int(1));
}

int mt_gradient_clone(mt_tensor **out, mt_tensor *g)
{
    return mt_clone(out, g, MT_FORMAT_PRESERVE);
}

static bool can_add_into(const mt_tensor *into, const mt_tensor *other)
{
    return (into->flags & MT_FLAG_DENSE) && into->dtype == other->dtype && into->ndim == other->ndim &&
           mt_gradient_is_exclusive(into);
}

int mt_gradient_add(mt_tensor **slot, mt_tensor **grad)
{
    mt_tensor *sum = NULL;
    int rc = -1;

    if (!mt_thread.grad_mode && can_add_into(*slot, *grad)) {
        MT_TRY(add_into(*slot, *grad));
    } else if (!mt_thread.grad_mode && can_add_into(*grad, *slot)) {
        MT_TRY(add_into(*grad, *slot));
        sum = *slot;
        *slot = *grad;
        *grad = sum;
    } else {
        MT_TRY(mt_gradient_sum(&sum, *slot, *grad));
        mt_tensor_unref(*slot);
        *slot = sum;
    }
    rc = 0;
fail:
    mt_tensor_clear(grad);
    return rc;
}

/* --- taking turns --- */

#define FEW_ELEMENTS 4096 /* sums and copies of so many keep the interpreter lock */
#define N_TURNS 16

static pthread_mutex_t turns[N_TURNS];
static pthread_once_t turns_once = PTHREAD_ONCE_INIT;

/* Recursive: what a thread does meanwhile may collect garbage, whose destructors may do anything. */
static void turns_start(void)
{
    pthread_mutexattr_t attr;

    pthread_mutexattr_init(&attr);
    pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
    for (int i = 0; i < N_TURNS; i++)
        pthread_mutex_init(&turns[i], &attr);
    pthread_mutexattr_destroy(&attr);
}

MT_NOINLINE static void *turn_wait(const void *key)
{
    pthread_mutex_t *turn = &turns[((uintptr_t)key >> 6) % N_TURNS];
    void *token;

    pthread_once(&turns_once, turns_start);
    if (pthread_mutex_trylock(turn) == 0)
        return turn;
    token = mt_lock_release_for(INFINITY); /* who has the turn may be waiting for it */
    pthread_mutex_lock(turn);
    mt_lock_acquire(token);
    return turn;
}

void *mt_turn_take(const void *key, int64_t numel)
{
    return MT_LIKELY(numel <= FEW_ELEMENTS) ? NULL : turn_wait(key);
}

void mt_turn_give(void *turn)
{
    if (MT_UNLIKELY(turn != NULL))
        pthread_mutex_unlock(turn);
}

/* --- leaves --- */

/* A stride of zero in a dimension of size one tells of a view. */
static bool has_layout_of(const mt_tensor *g, const mt_tensor *leaf)
{
    if (!(leaf->flags & MT_FLAG_DENSE))
        return mt_tensor_is_contiguous(g);
    if (g->ndim > leaf->ndim) /* the leaf has got other data */
        return false;
    for (int i = 0; i < g->ndim; i++)
        if (g->size[i] != 1 ? g->stride[i] != leaf->stride[i] : g->stride[i] == 0)
            return false;
    return true;
}

MT_COLD static int warn_layout(const mt_tensor *g, const mt_tensor *leaf)
{
    static bool done;
    mt_shape_text size, stride, leaf_size, leaf_stride;

    if (done)
        return 0;
    done = true;
    return mt_warn(MT_WARN_USER,
                   "grad and param do not obey the gradient layout contract. This is not an error, "
                   "but may impair performance.\ngrad.sizes() = %s, strides() = %s\nparam.sizes() "
                   "= %s, strides() = %s",
                   mt_shape_format(&size, g->size, g->ndim), mt_shape_format(&stride, g->stride, g->ndim),
                   mt_shape_format(&leaf_size, leaf->size, leaf->ndim),
                   mt_shape_format(&leaf_stride, leaf->stride, leaf->ndim));
}

static int clone_into_layout(mt_tensor **out, mt_tensor *g, const mt_tensor *leaf)
{
    mt_dtype dtype = (mt_dtype)g->dtype;
    mt_tensor *copy = NULL;
    int rc = -1;

    if (leaf->flags & MT_FLAG_DENSE)
        MT_TRY(mt_tensor_new_strided(&copy, dtype, leaf->ndim, leaf->size, leaf->stride, g->device));
    else
        MT_TRY(mt_tensor_new(&copy, dtype, leaf->ndim, leaf->size, g->device));
    MT_TRY(mt_copy_inplace(copy, g, false));
    *out = mt_tensor_move(&copy);
    rc = 0;
fail:
    mt_tensor_clear(&copy);
    return rc;
}

/* The gradient itself, without a base and without history. */
static int take_over(mt_tensor **out, mt_tensor **grad)
{
    if (!(*grad)->base && !(*grad)->autograd) {
        *out = mt_tensor_move(grad);
        return 0;
    }
    return mt_tensor_new_alias(out, *grad, false);
}

/* The new .grad, NULL when the old one was added to. */
static int sum_up(mt_tensor **fresh, mt_tensor *variable, mt_tensor *old, mt_tensor **grad, bool keep)
{
    mt_tensor *g = *grad;

    if (old && !mt_thread.grad_mode)
        return add_into(old, g);
    if (old)
        return mt_gradient_sum(fresh, old, g);
    if (!mt_thread.grad_mode && !keep && mt_gradient_is_exclusive(g) && has_layout_of(g, variable))
        return take_over(fresh, grad);
    return clone_into_layout(fresh, g, variable);
}

int mt_accumulate(mt_tensor *variable, mt_tensor **grad, bool keep)
{
    mt_tensor *fresh = NULL, *held = NULL;
    void *turn;
    mt_autograd *m;
    int rc;

    if (mt_autograd_meta(&m, variable) < 0)
        return -1;
    if (MT_UNLIKELY(m->grad && !mt_thread.grad_mode && !has_layout_of(m->grad, variable)) &&
        warn_layout(m->grad, variable) < 0)
        return -1;
    turn = mt_turn_take(variable, (*grad)->numel);
    if (MT_UNLIKELY(turn && m->grad))
        held = mt_tensor_ref(m->grad); /* a program may set another one meanwhile */
    rc = sum_up(&fresh, variable, m->grad, grad, keep);
    mt_turn_give(turn);
    if (fresh) {
        mt_tensor *old = m->grad;

        m->grad = fresh;
        mt_tensor_unref(old);
    }
    mt_tensor_unref(held);
    return rc;
}

int mt_accumulate_leaf(mt_tensor *variable, mt_tensor **grad, bool keep)
{
    if (MT_UNLIKELY(variable->autograd && variable->autograd->grad_fn))
        return mt_error_set(MT_ERR_RUNTIME, "leaf variable has been moved into the graph interior");
    return mt_tensor_requires_grad(variable) ? mt_accumulate(variable, grad, keep) : 0;
}

/* --- the node --- */

static const char *accumulate_name(const mt_node *n)
{
    (void)n;
    return "torch::autograd::AccumulateGrad";
}

/* Called as a function from Python; the engine goes straight to mt_accumulate_leaf. */
static int accumulate_run(mt_node *n, mt_tensor *const *grads, mt_tensor **out)
{
    mt_tensor *g = grads[0];

    (void)out;
    return g ? mt_accumulate_leaf(n->data, &g, true) : 0;
}

static void accumulate_destroy(mt_node *n)
{
    mt_tensor *variable = n->data;

    n->data = NULL;
    mt_tensor_unref(variable);
}

static const mt_node_ops accumulate_ops = {accumulate_name, accumulate_run, NULL, accumulate_destroy, NULL, NULL};

int mt_accumulate_node_new(mt_node **out, mt_tensor *variable)
{
    return mt_node_new_accumulate(out, &accumulate_ops, variable);
}
