/* SPDX-License-Identifier: BSD-3-Clause */
/* Birth and death of graph nodes. A node is one block: the node, its edges, saved values, input
   metadata and the sizes of that metadata, from a pool by size class. Death never recurses: while a
   node or the metadata of a tensor is torn down on a thread, whatever dies in consequence waits in
   that thread's list, so a graph of a million nodes is freed with a few stack frames. */
#include "autograd/autograd_internal.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"

#define CLASS_BYTES 64
#define N_CLASSES 17 /* class 0: a block of plain memory */

#define POOL(k) MT_POOL_INIT(CLASS_BYTES *(k), 1024)
static mt_pool pools[N_CLASSES] = {
    POOL(1), POOL(1),  POOL(2),  POOL(3),  POOL(4),  POOL(5),  POOL(6),  POOL(7),  POOL(8),
    POOL(9), POOL(10), POOL(11), POOL(12), POOL(13), POOL(14), POOL(15), POOL(16),
};
#undef POOL

static uint64_t next_sequence;

mt_anomaly_table mt_anomaly;

static MT_THREAD_LOCAL_FAST struct {
    mt_node *nodes;
    mt_autograd *metas;
    bool busy;
} dying;

int mt_node_new(mt_node **out, const mt_node_ops *ops, int n_edges, int n_saved, int n_inputs, int64_t n_dims)
{
    size_t bytes = sizeof(mt_node) + (size_t)n_edges * sizeof(mt_edge) + (size_t)n_saved * sizeof(mt_saved) +
                   (size_t)n_inputs * sizeof(mt_input_meta) + (size_t)n_dims * sizeof(int64_t);
    size_t class = (bytes + CLASS_BYTES - 1) / CLASS_BYTES;
    void *block;
    mt_node *n;
    char *p;

    *out = NULL;
    if (class >= N_CLASSES)
        class = 0;
    if (class ? mt_pool_get(&block, &pools[class]) : mt_malloc(&block, bytes))
        return -1;
    n = block;
    p = (char *)(n + 1);
    mt_refcount_init(&n->refs);
    n->flags = 0;
    n->size_class = (uint8_t)class;
    n->n_edges = n_edges;
    n->n_saved = n_saved;
    n->n_inputs = n_inputs;
    n->busy = 0;
    n->sequence = next_sequence++;
    n->ops = ops;
    n->op = NULL;
    n->edge = (mt_edge *)p;
    p += (size_t)n_edges * sizeof(mt_edge);
    n->saved = (mt_saved *)p;
    p += (size_t)n_saved * sizeof(mt_saved);
    n->input = (mt_input_meta *)p;
    p += (size_t)n_inputs * sizeof(mt_input_meta);
    n->hooks = NULL;
    n->py = n->data = n->anomaly = NULL;
    n->outer = NULL;
    n->run.task = 0;
    for (int i = 0; i < n_edges; i++)
        n->edge[i] = (mt_edge){NULL, 0};
    if (n_saved == 1)
        n->saved[0] = (mt_saved){0};
    else if (n_saved)
        memset(n->saved, 0, (size_t)n_saved * sizeof(mt_saved));
    for (int i = 0; i < n_inputs; i++)
        n->input[i] = (mt_input_meta){(int64_t *)p, 0, MT_DTYPE_NONE, MT_DEVICE_NONE, false};
    *out = n;
    return 0;
}

/* Accumulators come and go with every graph: one copy of a prepared block. */
int mt_node_new_accumulate(mt_node **out, const mt_node_ops *ops, mt_tensor *variable)
{
    enum { CLASS = (sizeof(mt_node) + sizeof(mt_input_meta) + CLASS_BYTES - 1) / CLASS_BYTES };
    mt_input_meta *input;
    void *block;
    mt_node *n;

    *out = NULL;
    if (mt_pool_get(&block, &pools[CLASS]) < 0)
        return -1;
    n = block;
    input = (mt_input_meta *)(n + 1);
    *n = (mt_node){.flags = MT_NODE_ACCUMULATE,
                   .size_class = CLASS,
                   .n_inputs = 1,
                   .sequence = UINT64_MAX,
                   .ops = ops,
                   .edge = (mt_edge *)input,
                   .saved = (mt_saved *)input,
                   .input = input,
                   .data = variable};
    mt_refcount_init(&n->refs);
    *input = (mt_input_meta){(int64_t *)(input + 1), 0, MT_DTYPE_NONE, MT_DEVICE_NONE, false};
    mt_tensor_ref(variable);
    *out = n;
    return 0;
}

uint64_t mt_node_next_sequence(void)
{
    return next_sequence;
}

int mt_node_created(mt_node *n)
{
    return MT_UNLIKELY(mt_anomaly.enabled) && mt_anomaly.created ? mt_anomaly.created(n) : 0;
}

int mt_node_replace_inputs(mt_node *n, mt_tensor *const *tensors, int count)
{
    size_t bytes = (size_t)count * sizeof(mt_input_meta);
    void *block = NULL;
    mt_input_meta *m;
    int64_t *size;

    for (int i = 0; i < count; i++)
        bytes += tensors[i] ? tensors[i]->ndim * sizeof(int64_t) : 0;
    if (bytes && mt_malloc(&block, bytes) < 0)
        return -1;
    m = block;
    size = (int64_t *)(m + count);
    for (int i = 0; i < count; i++) {
        const mt_tensor *t = tensors[i];

        m[i] = (mt_input_meta){size, 0, MT_DTYPE_NONE, MT_DEVICE_NONE, false};
        if (!t)
            continue;
        m[i] = (mt_input_meta){size, t->ndim, t->dtype, t->device, mt_dtype_is_differentiable((mt_dtype)t->dtype)};
        for (int d = 0; d < t->ndim; d++)
            *size++ = t->size[d];
    }
    if (n->flags & MT_NODE_OWN_INPUT)
        mt_free(n->input);
    n->flags |= MT_NODE_OWN_INPUT;
    n->input = m;
    n->n_inputs = count;
    return 0;
}

mt_input_meta mt_node_input(const mt_node *n, int k)
{
    if ((n->flags & (MT_NODE_ACCUMULATE | MT_NODE_OWN_INPUT)) == MT_NODE_ACCUMULATE) {
        const mt_tensor *t = n->data;
        mt_input_meta m = {t->size, t->ndim, t->dtype, t->device, true};

        if (t->autograd && t->autograd->grad_dtype != MT_DTYPE_COUNT)
            m.dtype = t->autograd->grad_dtype;
        return m;
    }
    return n->input[k];
}

int mt_node_differentiable_outputs(const mt_node *n)
{
    int count = n->n_inputs;

    if (!n->op || !n->op->grad)
        return count;
    while (count > 1 &&
           (!n->input[count - 1].takes_grad || (count <= MT_MAX_OUTS && (n->op->grad->constant >> (count - 1) & 1))))
        count--;
    return count;
}

const char *mt_node_short_name(mt_short_name *out, const mt_node *n)
{
    const char *name = mt_node_name(n);
    const size_t word = strlen("Backward");
    size_t end = strlen(name), digits = end;

    while (digits > 0 && name[digits - 1] >= '0' && name[digits - 1] <= '9')
        digits--;
    if (digits > word && strncmp(name + digits - word, "Backward", word) == 0)
        snprintf(out->text, sizeof(out->text), "%.*s%s", (int)(digits - word), name,
                 strcmp(name + digits, "0") ? name + digits : "");
    else
        snprintf(out->text, sizeof(out->text), "%s", name);
    return out->text;
}

/* --- death --- */

static void node_free(mt_node *n)
{
    if (n->hooks)
        mt_hook_clear(&n->hooks);
    if (n->ops->destroy)
        n->ops->destroy(n);
    for (int i = 0; i < n->n_edges; i++)
        mt_node_unref(n->edge[i].node);
    if (n->n_saved)
        mt_node_free_saved(n);
    if (MT_UNLIKELY(n->flags & MT_NODE_OWN_INPUT))
        mt_free(n->input);
    if (MT_UNLIKELY(n->anomaly != NULL) && mt_anomaly.destroy)
        mt_anomaly.destroy(n->anomaly);
    if (n->size_class)
        mt_pool_put(&pools[n->size_class], n);
    else
        mt_free(n);
}

/* The rest of the dead, once nobody else buries. */
static void bury(void)
{
    for (;;) {
        if (dying.nodes) {
            mt_node *n = dying.nodes;

            dying.nodes = n->run.next;
            node_free(n);
        } else if (dying.metas) {
            mt_autograd *m = dying.metas;

            dying.metas = m->next;
            mt_autograd_free(m);
        } else {
            break;
        }
    }
    dying.busy = false;
}

void mt_node_free_idle(mt_node *n)
{
    mt_pool_put(&pools[n->size_class], n);
}

void mt_node_destroy(mt_node *n)
{
    if (MT_UNLIKELY(n->flags & MT_NODE_CUSTOM) && n->ops->survive && n->ops->survive(n))
        return;
    if (n->flags & MT_NODE_ACCUMULATE) { /* nobody may find it from now on */
        mt_tensor *variable = n->data;
        mt_autograd *m = variable ? variable->autograd : NULL;
        bool known = m && m->accumulator == n;

        if (known && !n->hooks && !n->anomaly && !(n->flags & MT_NODE_OWN_INPUT)) { /* nothing hangs on it */
            m->idle_accumulator = 1;
            mt_tensor_unref(variable); /* the block goes with it */
            return;
        }
        if (known)
            m->accumulator = NULL;
    }
    if (dying.busy) {
        n->run.next = dying.nodes;
        dying.nodes = n;
        return;
    }
    dying.busy = true;
    node_free(n);
    bury();
}

void mt_autograd_destroy_later(mt_autograd *meta)
{
    meta->next = dying.metas;
    dying.metas = meta;
    if (!dying.busy) {
        dying.busy = true;
        bury();
    }
}
