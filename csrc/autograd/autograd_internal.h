/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of this folder share. */
#ifndef MT_AUTOGRAD_AUTOGRAD_INTERNAL_H
#define MT_AUTOGRAD_AUTOGRAD_INTERNAL_H

#include "autograd/autograd.h"

/* A stretch of code that records whatever the caller's state is (or records nothing). */
typedef struct mt_grad_scope {
    uint32_t exclude;
    bool grad_mode;
} mt_grad_scope;

static inline mt_grad_scope mt_grad_scope_enter(bool record)
{
    mt_grad_scope before = {mt_thread.exclude, mt_thread.grad_mode};

    mt_thread.grad_mode = record && !mt_thread.inference_mode;
    mt_thread.exclude &= ~(MT_KEY_BIT(MT_KEY_AUTOGRAD) | MT_KEY_BIT(MT_KEY_VIEW_INPLACE));
    return before;
}

static inline void mt_grad_scope_leave(mt_grad_scope before)
{
    mt_thread.exclude = before.exclude;
    mt_thread.grad_mode = before.grad_mode;
}

/* node.c */
void mt_autograd_destroy_later(mt_autograd *meta);
void mt_node_free_idle(mt_node *n);
int mt_node_new_accumulate(mt_node **out, const mt_node_ops *ops, mt_tensor *variable);

/* The name without a final "Backward" or "Backward0": "Exp" of "ExpBackward0", "Pow2" of "PowBackward2". */
typedef struct mt_short_name {
    char text[128];
} mt_short_name;
const char *mt_node_short_name(mt_short_name *out, const mt_node *n);

/* hooks.c: t, which is about to lose its history, keeps the hooks of its value as those of a leaf. */
int mt_hooks_keep(mt_tensor *t);

/* saved.c: drops everything, plain values too. */
void mt_node_free_saved(mt_node *n);

/* kernel.c: saving what the formulas of an op read. */
typedef struct mt_saver {
    const mt_call *call;
    const mt_grad *grad;
    mt_node *node;
    int64_t *room;      /* for number lists, behind the sizes of the inputs */
    uint32_t needed;    /* a bit per entry of grad->input that has an edge */
    mt_tensor *written; /* argument 0 of an in-place form, else NULL */
} mt_saver;

/* Counts the edges of the node to be; tells whether any input requires grad. */
bool mt_record_survey(int *n_edges, const mt_call *call, const mt_grad *grad);
/* Words of the node's block that the number lists take. */
int64_t mt_record_survey_saved(const mt_call *call, const mt_grad *grad);
int mt_record_inputs(mt_saver *s);

/* forward.c */
struct mt_dual;
void mt_dual_free(struct mt_dual *dual);
void mt_forward_drop(mt_tensor *t); /* which has a tangent */
/* What follows sees no tangents; the mask of excluded keys before, to be put back. */
static inline uint32_t mt_forward_pause(void)
{
    uint32_t exclude = mt_thread.exclude;

    mt_thread.exclude = exclude | MT_KEYS_DUAL;
    return exclude;
}
/* As mt_forward_set, of a tensor that was written in place. */
int mt_forward_update(mt_tensor *t, mt_tensor **tangent);

/* forward_jvp.c: the body of mt_forward_dispatch. */
int mt_forward_call(mt_call *call);

/* meta.c */
void mt_autograd_free(mt_autograd *meta);
int mt_autograd_set_edge(mt_tensor *t, mt_node *node, uint32_t output_nr);

/* accumulate.c */
int mt_accumulate_node_new(mt_node **out, mt_tensor *variable);
/* Large sums give the interpreter lock up: threads that add to the same .grad take turns. NULL for small ones; key: what is
   added to. mt_turn_give before anything that may wait. */
void *mt_turn_take(const void *key, int64_t numel);
void mt_turn_give(void *turn);
/* Adds *grad to variable.grad; may take *grad over. `keep`: somebody looks at *grad later. */
int mt_accumulate(mt_tensor *variable, mt_tensor **grad, bool keep);
/* The same for the variable of an accumulator, which may have changed: nothing when it needs no gradient any more. */
int mt_accumulate_leaf(mt_tensor *variable, mt_tensor **grad, bool keep);
int mt_gradient_sum(mt_tensor **out, mt_tensor *a, mt_tensor *b);
int mt_gradient_clone(mt_tensor **out, mt_tensor *g);
/* Sum of two gradients on their way; *slot is non-NULL. Consumes *grad. */
int mt_gradient_add(mt_tensor **slot, mt_tensor **grad);
/* Only this reference leads to the tensor and to its memory. */
bool mt_gradient_is_exclusive(const mt_tensor *t);

/* validate.c */
/* Makes *grad, which `from` gave for its edge `index`, look as the receiver wants: summed to size,
 * real, dtype. */
int mt_gradient_fit(mt_tensor **grad, const mt_node *from, int index, const mt_input_meta *want);
int mt_gradient_cast(mt_tensor **grad, mt_dtype dtype);

static inline bool mt_gradient_fits(const mt_tensor *g, const mt_input_meta *want)
{
    if (g->dtype != want->dtype || g->ndim != want->ndim || !mt_device_equal(g->device, want->device))
        return false;
    for (int i = 0; i < g->ndim; i++)
        if (g->size[i] != want->size[i])
            return false;
    return true;
}

/* op_calls.c */
int mt_autograd_op_cast(mt_tensor **out, mt_tensor *t, mt_dtype dtype, mt_device device); /* a copy */
int mt_autograd_op_sum(mt_tensor **out, mt_tensor *t, mt_ints dims);                      /* keeps dims */

/* inplace.c */
typedef struct mt_geometry {
    const int64_t *size, *stride;
    int64_t offset;
    uint8_t ndim, dtype;
    uint16_t flags; /* CONJ and NEG count */
} mt_geometry;
static inline mt_geometry mt_geometry_of(const mt_tensor *t)
{
    return (mt_geometry){t->size, t->stride, t->offset, t->ndim, t->dtype, t->flags};
}

/* The view that `view` is of a base at base_offset, taken of root, which is laid out like that
   base. Recorded as the caller records. */
int mt_view_replay(mt_tensor **out, mt_tensor *root, int64_t base_offset, const mt_geometry *view);
/* The node of the write inside CopySlices; NULL once released, and for other nodes. */
mt_node *mt_copy_slices_inner(const mt_node *node);
/* For saved outputs of a node inside CopySlices. */
int mt_copy_slices_output(mt_tensor **out, mt_node *copy_slices, mt_tensor *saved);

/* hooks.c: run the hooks of one kind. */
int mt_hooks_run(mt_hook *list, mt_hook_kind kind, mt_hook_frame *frame);
int mt_hooks_run_retain(mt_hook *list, mt_hook_frame *frame);
/* retain_grad follows the tensor to its new node. */
int mt_hook_move_retain(mt_autograd *meta, mt_node *from, mt_node *to, uint32_t output_nr);
void mt_hook_drop_retain(mt_node *node, const mt_autograd *meta);

#endif
