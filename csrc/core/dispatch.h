/* SPDX-License-Identifier: BSD-3-Clause */
/* Key sets, thread-local state and the dispatch loop. */
#ifndef MT_CORE_DISPATCH_H
#define MT_CORE_DISPATCH_H

#include "core/op.h"

/* Everything the call path asks about the thread, in one cache line. */
typedef struct mt_thread_state {
    uint32_t include, exclude; /* key bits */
    /* non-zero: leave the short road (modes, inference, hooks): MT_SLOW_... */
    uint32_t slow;
    bool grad_mode; /* true at thread start */
    bool inference_mode;
    bool override_disabled; /* DisableTorchFunction */
    bool override_subclass_disabled;
    /* Function transforms (torch.func) are numbered; new tensors carry the number of the one entered last, and those with
       a number below `captured`, that of the innermost one under way, were captured by its function. 0: none.
       `transforms` are under way, `depth` of them no mere loops. */
    uint32_t born, captured, transforms, depth;
    uint32_t autocast;      /* bits by type of device: it is on */
    void *saved_hooks;      /* owned through mt_saved_hooks; NULL: none, and no MT_SLOW_SAVED_HOOKS */
    bool mode_in_inference; /* grad_mode stays off in inference mode; this is what it is said to be there */
} mt_thread_state;
extern MT_THREAD_LOCAL_FAST mt_thread_state mt_thread;

enum { MT_SLOW_MODE = 1, MT_SLOW_INFERENCE = 2, MT_SLOW_SAVED_HOOKS = 8, MT_SLOW_SKIP = 16, MT_SLOW_TRANSFORM = 32 };

/* Around the function of a transform, whose ops must not write what it captured in place, unless it is a mere loop
   (vmap). Gives what leave takes. */
uint32_t mt_transform_enter(bool is_loop);
void mt_transform_leave(uint32_t outer);
/* The function of the innermost transform may write t. */
void mt_tensor_adopt(mt_tensor *t);

/* Runs the op of the frame: keys of all tensor arguments and outputs (a device argument chooses the
   backend of a factory), united with include, without exclude; the highest key with a kernel is
   called. AUTOGRAD takes part only while grad mode is on, or for in-place and out forms and views
   that must keep history right; VIEW_INPLACE only for what writes an argument or makes views, and
   not for composites. A backend kernel calls op->meta itself, before its work, and mt_out_finish
   after it (adapters do this; the shared pointwise and reduce kernels too). On meta tensors an op
   without a META kernel runs its meta rule alone. Below VIEW_INPLACE the dispatcher has resolved
   conjugate and negative bits of the arguments (not for views and composites) and refused tensors
   that lie outside a shrunk storage. The message of an error stays as the kernel worded it, because
   PyTorch's texts rarely name the op. */
int mt_dispatch(mt_call *call);
/* Ops with a tensor that has a tangent, unless mt_thread.exclude has MT_KEYS_DUAL: 0 done, -1 error, 1 nothing to do
   here. Installed by autograd before the first tangent is set. */
extern int (*mt_forward_dispatch)(mt_call *call);
/* Functions of the catalog with a policy for autocast, unless mt_thread.exclude has MT_KEYS_AUTOCAST; the same answers.
   Installed when autocast is first turned on. */
extern int (*mt_autocast_dispatch)(mt_call *call);
/* Continues below `key`: used by the AUTOGRAD and VIEW_INPLACE kernels. */
int mt_redispatch(mt_call *call, mt_key key);
/* Key bits of the tensors of a frame. Those of a view include the AUTOGRAD bit of its base. */
uint32_t mt_call_keys(const mt_call *call);

/* The keys of a tensor for dispatch: a view is differentiated when its base is. */
static inline uint32_t mt_tensor_keys(const mt_tensor *t)
{
    return t->base ? t->keys | (t->base->keys & MT_KEYS_TRACKED) : t->keys;
}

/* Somebody differentiates what is done with this tensor. */
static inline bool mt_tensor_is_tracked(const mt_tensor *t)
{
    return (mt_tensor_keys(t) & MT_KEYS_TRACKED) != 0;
}

/* Not to be handed to a kernel as it is: lazy conjugate and negative bits, a storage that was shrunk, or one that shares its
   bytes with lazy clones. */
static inline bool mt_tensor_needs_care(const mt_tensor *t)
{
    return (t->flags & (MT_FLAG_CONJ | MT_FLAG_NEG)) || (t->storage->flags & (MT_STORAGE_SHRUNK | MT_STORAGE_COW));
}

/* The ADInplaceOrView kernel of every op: bumps versions of written tensors, marks views of list results
   (MT_FLAG_MULTI_VIEW). mt_tensor_new_view has set the other guards and own_version. */
int mt_view_inplace_kernel(mt_call *call);

/* Shared backend slots. */
int mt_pointwise_kernel(mt_call *call);
int mt_reduce_kernel(mt_call *call);
int mt_no_impl_kernel(mt_call *call); /* NotImplementedError that names the op */

/* The short road of binary and unary pointwise ops: 1 when it produced *out, 0 when the general
   road must be taken, -1 on error. out is NULL on entry, or the tensor to write (in-place,
   out=). */
int mt_fast_binary(mt_tensor **out, const mt_op *op, mt_tensor *a, mt_tensor *b);
int mt_fast_binary_scalar(mt_tensor **out, const mt_op *op, mt_tensor *a, mt_scalar b, bool scalar_first);
int mt_fast_unary(mt_tensor **out, const mt_op *op, mt_tensor *a);
/* The same for the function form of a frame whose numbers have their defaults; gradients have been
   seen to. */
int mt_fast_call(mt_call *call);

#endif
