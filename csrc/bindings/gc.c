/* SPDX-License-Identifier: BSD-3-Clause */
/* What the collector of Python is shown of tensors and graphs. C objects count their owners; where the count says that one
   owner is left, the owner shows what it keeps alive as if it held it itself. Hidden references only delay the death of a
   cycle; a reference shown twice would kill what lives. */
#include "autograd/autograd.h"
#include "bindings/autograd_internal.h"

#define MOST_NODES 64 /* of one walk; what lies deeper stays hidden */

/* A tensor that is held here and by its wrapper only owns that wrapper. */
static int visit_held(const mt_tensor *t, visitproc visit, void *arg)
{
    if (t && t->py && mt_refcount_get(&t->refs) == 2)
        Py_VISIT((PyObject *)t->py);
    return 0;
}

static int visit_hooks(mt_hook *list, visitproc visit, void *arg)
{
    for (mt_hook *h = list; h; h = h->next)
        if (h->ops == &mt_py_tensor_dict_hook || h->ops == &mt_py_accumulate_dict_hook ||
            h->ops == &mt_py_pre_dict_hook || h->ops == &mt_py_post_dict_hook)
            Py_VISIT((PyObject *)h->ctx);
    return 0;
}

static int visit_saved(mt_node *n, visitproc visit, void *arg)
{
    for (int k = 0; k < n->n_saved; k++) {
        bool list = n->saved[k].value.kind == MT_ARG_TENSORS;
        int count = list ? n->saved[k].value.v.tensors.n : 1;

        for (int i = 0; i < count; i++) {
            const mt_saved *s = mt_saved_slot(n, k, list ? i : -1);
            int rc = 0;

            if (s->packed)
                rc = mt_py_visit_saved_handle(s, visit, arg);
            else if (s->value.kind == MT_ARG_TENSOR)
                rc = visit_held(s->value.v.tensor, visit, arg);
            if (rc)
                return rc;
        }
    }
    return 0;
}

/* What n keeps, n itself having one owner, who asks. */
int mt_py_visit_node(mt_node *n, visitproc visit, void *arg)
{
    mt_node *todo[MOST_NODES];
    int n_todo = 1, done = 0, rc;

    todo[0] = n;
    while (done < n_todo) {
        mt_node *at = todo[done++];

        if (at->anomaly)
            Py_VISIT((PyObject *)at->anomaly);
        if ((rc = visit_hooks(at->hooks, visit, arg)) || (rc = visit_saved(at, visit, arg)))
            return rc;
        if (at->flags & MT_NODE_ACCUMULATE) {
            if ((rc = visit_held(at->data, visit, arg)))
                return rc;
            continue;
        }
        for (int i = 0; i < at->n_edges; i++) {
            mt_node *next = at->edge[i].node;

            if (!next || mt_refcount_get(&next->refs) != 1)
                continue;
            if (mt_py_function_object(next))
                Py_VISIT(mt_py_function_object(next)); /* which shows the rest */
            else if (n_todo < MOST_NODES)
                todo[n_todo++] = next;
        }
    }
    return 0;
}

/* A storage that is held here and by its object only owns that object. */
static int visit_storage(const mt_storage *s, visitproc visit, void *arg)
{
    if (s && s->py && mt_refcount_get(&s->refs) == 2)
        Py_VISIT((PyObject *)s->py);
    return 0;
}

/* What t keeps, its wrapper being its only owner. */
int mt_py_visit_tensor(mt_tensor *t, visitproc visit, void *arg)
{
    mt_autograd *m = t->autograd;
    mt_node *fn = m ? m->grad_fn : NULL;
    int rc = visit_held(t->base, visit, arg);

    if (!rc)
        rc = visit_storage(t->storage, visit, arg);
    if (rc || !m)
        return rc;
    if ((rc = visit_held(m->grad, visit, arg)) || (rc = visit_hooks(m->hooks, visit, arg)))
        return rc;
    if (!fn || mt_refcount_get(&fn->refs) != 1)
        return 0;
    if (mt_py_function_object(fn)) {
        Py_VISIT(mt_py_function_object(fn));
        return 0;
    }
    return mt_py_visit_node(fn, visit, arg);
}

/* The nodes that t alone keeps, new references. */
static int nodes_of(mt_node **nodes, mt_node *fn)
{
    int n = 0, done = 0;

    if (fn && mt_refcount_get(&fn->refs) == 1 && !mt_py_function_object(fn))
        nodes[n++] = fn;
    for (; done < n; done++)
        for (int i = 0; i < nodes[done]->n_edges && n < MOST_NODES; i++) {
            mt_node *next = nodes[done]->edge[i].node;

            if (next && mt_refcount_get(&next->refs) == 1 && !mt_py_function_object(next))
                nodes[n++] = next;
        }
    for (int i = 0; i < n; i++)
        mt_node_ref(nodes[i]);
    return n;
}

/* t is garbage: what its graph saved goes, so that a cycle through it ends. */
void mt_py_clear_tensor(mt_tensor *t)
{
    mt_node *nodes[MOST_NODES];
    int n;

    if (!t->autograd)
        return;
    n = nodes_of(nodes, t->autograd->grad_fn);
    if (!t->autograd->grad_fn)
        mt_hook_clear(&t->autograd->hooks);
    for (int i = 0; i < n; i++) {
        mt_node_release_saved(nodes[i]);
        mt_node_unref(nodes[i]);
    }
}
