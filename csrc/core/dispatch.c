/* SPDX-License-Identifier: BSD-3-Clause */
/* The dispatch loop. One scan over the arguments gathers the keys and whether any argument needs
   care below the autograd level: lazy conjugate and negative bits, a storage that was shrunk, or one that shares its bytes
   with lazy clones. All are rare, so they travel as one bit above the keys and cost nothing else. */
#include "core/dispatch.h"

#include <string.h>

#include "base/alloc.h"

MT_THREAD_LOCAL_FAST mt_thread_state mt_thread = {.grad_mode = true};

#define ALL_KEYS (MT_KEY_BIT(MT_KEY_COUNT) - 1)
#define BACKENDS (MT_KEY_BIT(MT_KEY_CPU) | MT_KEY_BIT(MT_KEY_CUDA) | MT_KEY_BIT(MT_KEY_META))
#define NEEDS_CARE (1u << 30)
#define TRANSFORM (1u << 28)                 /* in mt_thread.include while a transform is under way */
#define CARRIED (NEEDS_CARE | MT_KEYS_SHELL) /* what frames keep beside the keys */

enum { LAZY = MT_FLAG_CONJ | MT_FLAG_NEG };

/* --- keys --- */

static inline uint32_t keys_of(const mt_tensor *t)
{
    uint32_t keys = mt_tensor_keys(t);

    if (MT_UNLIKELY(mt_tensor_needs_care(t)))
        keys |= NEEDS_CARE;
    if (MT_UNLIKELY(mt_dtype_is_shell((mt_dtype)t->dtype)))
        keys |= MT_KEYS_SHELL;
    return keys;
}

static uint32_t scan(const mt_call *call)
{
    uint32_t keys = 0;
    int8_t device = -1;

    for (int i = 0; i < call->n_args; i++) {
        const mt_value *a = &call->arg[i];

        if (a->kind == MT_ARG_TENSOR) {
            if (a->v.tensor)
                keys |= keys_of(a->v.tensor);
        } else if (a->kind == MT_ARG_TENSORS) {
            for (int j = 0; j < a->v.tensors.n; j++)
                if (a->v.tensors.data[j])
                    keys |= keys_of(a->v.tensors.data[j]);
        } else if (a->kind == MT_ARG_DEVICE) {
            device = a->v.device.type;
        }
    }
    if (call->variant != MT_VARIANT_FUNCTION)
        for (int i = 0; i < call->n_outs; i++)
            if (call->out[i])
                keys |= keys_of(call->out[i]);
    if (device >= 0 && (call->op->flags & MT_OPF_FACTORY))
        keys = (keys & ~BACKENDS) | MT_KEY_BIT((unsigned)device);
    else if (!(keys & BACKENDS))
        keys |= MT_KEY_BIT(device >= 0 ? (unsigned)device : MT_KEY_CPU);
    return keys;
}

uint32_t mt_call_keys(const mt_call *call)
{
    return scan(call) & ALL_KEYS;
}

/* --- arguments that need care --- */

/* resize_ and set_ see to the memory of self themselves. */
static bool changes_geometry(const mt_op *op)
{
    return strncmp(op->name, "resize", 6) == 0 || strncmp(op->name, "set", 3) == 0;
}

/* Tensors whose storage was shrunk may lie outside of it. */
static int check_bounds(const mt_call *call)
{
    for (int i = changes_geometry(call->op); i < call->n_args; i++) {
        const mt_value *a = &call->arg[i];
        mt_tensor *const *list = a->kind == MT_ARG_TENSORS ? a->v.tensors.data : &a->v.tensor;
        int n = a->kind == MT_ARG_TENSORS ? a->v.tensors.n : a->kind == MT_ARG_TENSOR;

        for (int j = 0; j < n; j++)
            if (list[j] && mt_tensor_check_bounds(list[j]) < 0)
                return -1;
    }
    return 0;
}

/* The tensors that the kernel writes get bytes of their own. Pointwise kernels and reductions leave it to
   mt_out_prepare, which comes after their refusals. */
static int own_written(const mt_call *call)
{
    const mt_value *self = &call->arg[0];

    if (call->op->pointwise || call->op->reduce)
        return 0;
    if (call->variant != MT_VARIANT_FUNCTION) {
        for (int i = 0; i < call->n_outs; i++)
            if (call->out[i] && mt_storage_own(call->out[i]->storage) < 0)
                return -1;
    } else if ((call->op->flags & MT_OPF_MUTATES_SELF) && self->kind == MT_ARG_TENSOR && !changes_geometry(call->op)) {
        return mt_storage_own(self->v.tensor->storage);
    }
    return 0;
}

/* What replaced the arguments of a frame: tensors, and copies of the lists that hold some. */
typedef struct replaced {
    mt_value arg[MT_MAX_ARGS];
    mt_tensor_list lists; /* owns every new tensor */
    void *list_data[MT_MAX_ARGS];
} replaced;

static int count_lazy(const mt_call *call)
{
    int count = 0;

    for (int i = 0; i < call->n_args; i++) {
        const mt_value *a = &call->arg[i];

        if (a->kind == MT_ARG_TENSOR)
            count += a->v.tensor && (a->v.tensor->flags & LAZY);
        else if (a->kind == MT_ARG_TENSORS)
            for (int j = 0; j < a->v.tensors.n; j++)
                count += a->v.tensors.data[j] && (a->v.tensors.data[j]->flags & LAZY);
    }
    return count;
}

static int resolve_one(mt_tensor **slot, replaced *r, int *used)
{
    if (!*slot || !((*slot)->flags & LAZY))
        return 0;
    if (mt_tensor_materialize(&r->lists.data[*used], *slot) < 0)
        return -1;
    *slot = r->lists.data[(*used)++];
    return 0;
}

/* In-place forms keep argument 0: it is the output, and their meta rule sees to a temporary; the
   value read is the resolved copy. */
static int resolve_args(mt_call *call, replaced *r)
{
    int used = 0;

    if (mt_tensor_list_new(&r->lists, count_lazy(call)) < 0)
        return -1;
    for (int i = 0; i < call->n_args; i++) {
        mt_value *a = &call->arg[i];
        mt_tensor **copy;

        if (a->kind == MT_ARG_TENSOR) {
            if (resolve_one(&a->v.tensor, r, &used) < 0)
                return -1;
        } else if (a->kind == MT_ARG_TENSORS && a->v.tensors.n > 0) {
            if (mt_malloc(&r->list_data[i], (size_t)a->v.tensors.n * sizeof(mt_tensor *)) < 0)
                return -1;
            copy = r->list_data[i];
            memcpy(copy, a->v.tensors.data, (size_t)a->v.tensors.n * sizeof(mt_tensor *));
            a->v.tensors.data = copy;
            for (int j = 0; j < a->v.tensors.n; j++)
                if (resolve_one(&copy[j], r, &used) < 0)
                    return -1;
        }
    }
    return 0;
}

/* An op without an output that writes its argument 0 wrote the copy. */
static int write_back(mt_call *call, const replaced *r)
{
    mt_tensor *self = r->arg[0].kind == MT_ARG_TENSOR ? r->arg[0].v.tensor : NULL;

    if (call->variant != MT_VARIANT_FUNCTION || !(call->op->flags & MT_OPF_MUTATES_SELF) || !self ||
        !(self->flags & LAZY))
        return 0;
    return mt_tensor_assign(self, call->arg[0].v.tensor);
}

static MT_COLD int run_with_care(mt_call *call, mt_call_fn *kernel)
{
    replaced r = {.lists = {NULL, 0}};
    int rc = -1;

    if (check_bounds(call) < 0 || own_written(call) < 0)
        return -1;
    if (!count_lazy(call))
        return kernel(call);
    memcpy(r.arg, call->arg, sizeof(r.arg[0]) * call->n_args);
    if (resolve_args(call, &r) == 0 && kernel(call) == 0)
        rc = write_back(call, &r);
    memcpy(call->arg, r.arg, sizeof(r.arg[0]) * call->n_args);
    mt_tensor_list_clear(&r.lists);
    for (int i = 0; i < call->n_args; i++)
        mt_free(r.list_data[i]);
    return rc;
}

/* --- the loop --- */

static int run_meta_rule(mt_call *call)
{
    if (call->op->meta(call) < 0)
        return -1;
    return mt_out_finish(call);
}

static int run_backend(mt_call *call, mt_key key)
{
    const mt_op *op = call->op;
    mt_call_fn *kernel = op->kernel[key];

    if (!kernel)
        kernel = key == MT_KEY_META && op->meta ? run_meta_rule : mt_no_impl_kernel;
    if (MT_UNLIKELY((call->keys & NEEDS_CARE) && !(op->flags & (MT_OPF_VIEW | MT_OPF_COMPOSITE))))
        return run_with_care(call, kernel);
    return kernel(call);
}

/* Calls the kernel of the highest key; the frame's keys are put back afterwards. */
static int run(mt_call *call, uint32_t keys)
{
    uint32_t saved = call->keys, left = keys & ALL_KEYS;
    int rc;

    for (;;) {
        mt_key key = (mt_key)(31 - __builtin_clz(left | 1));

        call->keys = left | (keys & CARRIED);
        if (MT_KEY_BIT(key) & BACKENDS) {
            rc = run_backend(call, key);
            break;
        }
        if (call->op->kernel[key]) {
            rc = call->op->kernel[key](call);
            break;
        }
        left &= ~MT_KEY_BIT(key);
    }
    call->keys = saved;
    return rc;
}

/* --- transforms --- */

uint32_t mt_transform_enter(bool is_loop)
{
    static uint32_t count;
    uint32_t outer = mt_thread.captured;

    mt_thread.transforms++;
    if (is_loop)
        return outer;
    mt_thread.depth++;
    mt_thread.captured = mt_thread.born = __atomic_add_fetch(&count, 1, __ATOMIC_RELAXED);
    mt_thread.include |= TRANSFORM;
    mt_thread.slow |= MT_SLOW_TRANSFORM;
    return outer;
}

void mt_transform_leave(uint32_t outer)
{
    mt_thread.transforms--;
    mt_thread.depth -= mt_thread.captured != outer;
    mt_thread.captured = outer;
    if (outer)
        return;
    mt_thread.include &= ~TRANSFORM;
    mt_thread.slow &= ~(uint32_t)MT_SLOW_TRANSFORM;
}

/* Outer arguments and inner ones share a storage, so that its number cannot tell them apart. */
static uint16_t adopted_here(void)
{
    return (uint16_t)((mt_thread.depth % 3 + 1) * (MT_FLAG_ADOPTED / 3));
}

void mt_tensor_adopt(mt_tensor *t)
{
    t->flags = (uint16_t)((t->flags & ~MT_FLAG_ADOPTED) | adopted_here());
}

static bool may_write(const mt_tensor *t)
{
    uint16_t adopted = t->flags & MT_FLAG_ADOPTED;

    return adopted ? adopted == adopted_here() : t->storage->born >= mt_thread.captured;
}

/* What is written while tangents are computed is the tangents' business. */
MT_COLD static int check_captured(const mt_call *call, bool writes)
{
    const mt_op *op = call->op;
    const mt_value *self = &call->arg[0];
    bool in_place = call->variant == MT_VARIANT_INPLACE;

    if (!writes || call->variant == MT_VARIANT_OUT || self->kind != MT_ARG_TENSOR || !self->v.tensor ||
        may_write(self->v.tensor) || (mt_thread.exclude & MT_KEYS_DUAL))
        return 0;
    return mt_error_set(
        MT_ERR_RUNTIME,
        "During a grad (vjp, jvp, grad, etc) transform, the function provided attempted to call in-place "
        "operation (aten::%s%s%s%s) that would mutate a captured Tensor. This is not supported; please "
        "rewrite the function being transformed to explicitly accept the mutated Tensor(s) as inputs.",
        op->name, in_place && op->name[strlen(op->name) - 1] != '_' ? "_" : "", op->overload[0] ? "." : "",
        op->overload);
}

int (*mt_forward_dispatch)(mt_call *call);
int (*mt_autocast_dispatch)(mt_call *call);

/* What comes before the keys: autocast, transforms, forward mode. 0 done, -1 error, 1 go on. */
MT_COLD static int run_before(mt_call *call, uint32_t asked, bool writes)
{
    const mt_op *op = call->op;

    if ((asked & MT_KEYS_AUTOCAST) && call->variant == MT_VARIANT_FUNCTION && (op->autocast[0] | op->autocast[1])) {
        int rc = mt_autocast_dispatch(call);

        if (rc <= 0)
            return rc;
    }
    if ((asked & TRANSFORM) && check_captured(call, writes) < 0)
        return -1;
    return asked & MT_KEYS_DUAL ? mt_forward_dispatch(call) : 1;
}

int mt_dispatch(mt_call *call)
{
    uint32_t keys = scan(call) | mt_thread.include, flags = call->op->flags;
    bool writes = call->variant != MT_VARIANT_FUNCTION || (flags & MT_OPF_MUTATES_SELF);

    if (MT_UNLIKELY(keys & ~mt_thread.exclude & (MT_KEYS_DUAL | TRANSFORM | MT_KEYS_AUTOCAST))) {
        int rc = run_before(call, keys & ~mt_thread.exclude, writes);

        if (rc <= 0)
            return rc;
    }
    if (!mt_thread.grad_mode && !writes && !(flags & MT_OPF_VIEW))
        keys &= ~MT_KEY_BIT(MT_KEY_AUTOGRAD);
    /* composites that write by themselves have the slot, others fall through; single views need nothing of it */
    if (writes || (flags & (MT_OPF_VIEW | MT_OPF_LIST_OUT)) == (MT_OPF_VIEW | MT_OPF_LIST_OUT))
        keys |= MT_KEY_BIT(MT_KEY_VIEW_INPLACE);
    else
        keys &= ~MT_KEY_BIT(MT_KEY_VIEW_INPLACE);
    return run(call, keys & ~mt_thread.exclude);
}

int mt_redispatch(mt_call *call, mt_key key)
{
    return run(call, call->keys & ((MT_KEY_BIT(key) - 1) | CARRIED));
}

/* --- kernels of the dispatcher itself --- */

static int refuse_inference(const mt_tensor *t)
{
    if (MT_LIKELY(!t || !(t->flags & MT_FLAG_INFERENCE)))
        return 0;
    return mt_error_set(MT_ERR_RUNTIME,
                        "Inplace update to inference tensor outside InferenceMode is not allowed.You can make a clone "
                        "to get a normal tensor before doing inplace update."
                        "See https://github.com/pytorch/rfcs/pull/17 for more details.");
}

int mt_tensor_check_written(const mt_tensor *t)
{
    return mt_thread.inference_mode ? 0 : refuse_inference(t);
}

/* Inference tensors have no version: only inference mode may write them. */
static int check_written(const mt_call *call)
{
    const mt_value *self = &call->arg[0];
    int rc = 0;

    if (mt_thread.inference_mode)
        return 0;
    if (call->variant == MT_VARIANT_OUT) {
        for (int i = 0; rc == 0 && i < call->n_outs; i++)
            rc = refuse_inference(call->out[i]);
    } else if (self->kind == MT_ARG_TENSOR) {
        rc = refuse_inference(self->v.tensor);
    } else if (self->kind == MT_ARG_TENSORS) {
        for (int i = 0; rc == 0 && i < self->v.tensors.n; i++)
            rc = refuse_inference(self->v.tensors.data[i]);
    }
    return rc;
}

static void bump(mt_tensor *t)
{
    if (t && !(t->flags & MT_FLAG_INFERENCE))
        mt_tensor_bump_version(t);
}

static void bump_written(const mt_call *call)
{
    const mt_value *self = &call->arg[0];

    if (call->variant == MT_VARIANT_OUT) {
        for (int i = 0; i < call->n_outs; i++)
            bump(call->out[i]);
    } else if (self->kind == MT_ARG_TENSOR) {
        bump(self->v.tensor);
    } else if (self->kind == MT_ARG_TENSORS) {
        for (int i = 0; i < self->v.tensors.n; i++)
            bump(self->v.tensors.data[i]);
    }
}

/* Views that came together may not be changed in place while gradients are recorded. The other guards of a view are
   set where it is made. */
static void mark_views(const mt_call *call)
{
    const mt_tensor *self = call->arg[0].kind == MT_ARG_TENSOR ? call->arg[0].v.tensor : NULL;

    if (!(call->op->flags & MT_OPF_LIST_OUT) || mt_thread.inference_mode || !mt_thread.grad_mode)
        return;
    for (int i = 0; i < call->n_outs; i++) {
        mt_tensor *v = call->out[i];

        if (v && v != self && (v->flags & MT_FLAG_VIEW) && !(v->flags & MT_FLAG_INFERENCE))
            v->flags |= MT_FLAG_MULTI_VIEW;
    }
}

/* resize_ counts as a write only when the sizes change. */
static bool keeps_sizes(const mt_call *call)
{
    return call->op->name[0] == 'r' && strncmp(call->op->name, "resize", 6) == 0;
}

int mt_view_inplace_kernel(mt_call *call)
{
    bool writes = call->variant != MT_VARIANT_FUNCTION || (call->op->flags & MT_OPF_MUTATES_SELF);
    mt_tensor *self = call->arg[0].kind == MT_ARG_TENSOR ? call->arg[0].v.tensor : NULL;
    int64_t size[MT_MAX_DIM];
    int ndim = -1;

    if (MT_UNLIKELY(writes && self && keeps_sizes(call))) {
        ndim = self->ndim;
        memcpy(size, self->size, (size_t)ndim * sizeof(size[0]));
    }
    if (writes && check_written(call) < 0)
        return -1;
    if (mt_redispatch(call, MT_KEY_VIEW_INPLACE) < 0)
        return -1;
    if (!writes)
        mark_views(call);
    else if (ndim < 0 || ndim != self->ndim || memcmp(size, self->size, (size_t)ndim * sizeof(size[0])) != 0)
        bump_written(call);
    return 0;
}

int mt_no_impl_kernel(mt_call *call)
{
    static const char *const names[] = {"CPU", "CUDA", "Meta"};
    uint32_t backend = call->keys & BACKENDS;
    const mt_op *op = call->op;
    const char *dot = op->overload && op->overload[0] ? "." : "";

    if (op->flags & MT_OPF_NO_IMPL)
        return mt_error_set(MT_ERR_NOT_IMPLEMENTED, "%s(): not implemented", op->name);
    return mt_error_set(MT_ERR_NOT_IMPLEMENTED, "Could not run 'aten::%s%s%s' with arguments from the '%s' backend.",
                        op->name, dot, op->overload ? op->overload : "",
                        names[backend ? 31 - __builtin_clz(backend) : 0]);
}
