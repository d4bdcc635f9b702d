/* SPDX-License-Identifier: BSD-3-Clause */
/* Values that a node keeps for its backward formula. A tensor is kept as it is, with the version it
   had; an output of the node itself as a detached alias, which gets its history back when it is
   read, so that no node owns itself. Plain values are copied and stay until the node dies; tensors
   go when the node is released. */
#include "autograd/autograd_internal.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/strbuf.h"

mt_saved_hook_table mt_saved_hooks;

/* --- errors --- */

const char mt_text_backward_twice[] =
    "Trying to backward through the graph a second time (or directly access saved tensors after "
    "they have already been freed). Saved intermediate values of the graph are freed when you call "
    ".backward() or autograd.grad(). Specify retain_graph=True if you need to backward through the "
    "graph a second time or if you need to access saved tensors after calling backward.";

static int raise_released(void)
{
    return mt_error_set(MT_ERR_RUNTIME, "%s", mt_text_backward_twice);
}

/* Tensors of the oldest dtypes are named after their class, the others after their backend. */
static const char *type_text(char *room, size_t bytes, const mt_tensor *t)
{
    bool cuda = t->device.type == MT_DEVICE_CUDA;
    const char *name = mt_dtype_table[t->dtype].legacy;

    switch (t->dtype) {
    case MT_DTYPE_u8:
    case MT_DTYPE_i8:
    case MT_DTYPE_i16:
    case MT_DTYPE_i32:
    case MT_DTYPE_i64:
    case MT_DTYPE_f16:
    case MT_DTYPE_f32:
    case MT_DTYPE_f64:
        snprintf(room, bytes, "torch.%s%sTensor", cuda ? "cuda." : "", name);
        break;
    default:
        snprintf(room, bytes, "%s%sType", cuda ? "CUDA" : "CPU", name);
        break;
    }
    return room;
}

MT_COLD static int raise_version(const mt_node *n, const mt_saved *s, mt_tensor *t, uint32_t expected)
{
    const mt_node *history = NULL;
    uint32_t output_nr = 0;
    mt_shape_text shape;
    char which[200] = "", type[60];

    if (s->is_output) {
        history = n->outer ? n->outer : n;
        output_nr = s->output_nr;
    } else {
        mt_node *fn;

        if (mt_autograd_grad_fn(&fn, t) < 0)
            return -1;
        history = fn;
        output_nr = mt_autograd_output_nr(t);
    }
    if (history) {
        mt_short_name name;

        snprintf(which, sizeof(which), ", which is output %u of %s,", output_nr, mt_node_short_name(&name, history));
    }
    return mt_error_set(MT_ERR_RUNTIME,
                        "one of the variables needed for gradient computation has been modified by an inplace "
                        "operation: [%s %s]%s is at version %u; expected version %u instead. Hint: "
                        "%s",
                        type_text(type, sizeof(type), t), mt_shape_format(&shape, t->size, t->ndim), which,
                        mt_tensor_version(t), expected,
                        mt_anomaly.enabled
                            ? "the backtrace further above shows the operation that failed to compute its "
                              "gradient. The variable in question was changed in there or anywhere later. Good "
                              "luck!"
                            : "enable anomaly detection to find the operation that failed to compute its gradient, "
                              "with torch.autograd.set_detect_anomaly(True, check_nan=False).");
}

/* detach_() took the history that a formula would record with. It moves no version, and a view cannot be detached. */
static bool lost_history(const mt_saved *s, const mt_tensor *t)
{
    return s->has_history && !t->autograd->grad_fn;
}

MT_COLD static int raise_detached(void)
{
    return mt_error_set(MT_ERR_RUNTIME,
                        "Trying to use a saved tensor that has been detached in-place, i.e. with .detach_()."
                        "This is not supported, please use out-of-place `.detach()` instead");
}

/* --- writing --- */

static int check_saveable(const mt_tensor *t)
{
    int rc = -1;

    MT_REQUIRE(!(t->flags & MT_FLAG_INFERENCE), MT_ERR_RUNTIME,
               "Inference tensors cannot be saved for backward. Please do not use Tensors created "
               "in inference mode in computation tracked by autograd. To work around this, you can "
               "make a clone to get a normal tensor and use it in autograd, or use "
               "`torch.no_grad()` instead of `torch.inference_mode()`.");
    rc = 0;
fail:
    return rc;
}

/* What a pack hook left, and the history that its value gets when it comes back. */
typedef struct packed {
    void *handle;
    mt_edge history; /* of an input that requires grad */
} packed;

static void packed_free(packed *p)
{
    if (p->handle)
        mt_saved_hooks.destroy(p->handle);
    mt_node_unref(p->history.node);
    mt_free(p);
}

static int call_pack_hook(packed *p, mt_tensor *t)
{
    uint32_t version = mt_tensor_version(t);
    bool grad_mode = mt_thread.grad_mode;
    int rc;

    mt_thread.grad_mode = false;
    rc = mt_saved_hooks.pack(&p->handle, t);
    mt_thread.grad_mode = grad_mode;
    if (rc < 0 || version == mt_tensor_version(t))
        return rc;
    return mt_error_set(MT_ERR_RUNTIME,
                        "A saved tensor pack hook is modifying its input in place. Tensors provided as input to pack "
                        "hook cannot be modified by in-place operations as this can lead to unexpected side-effects. "
                        "Please open an issue if you need to perform in-place operations on the input to a pack hook.");
}

/* Hands the tensor to the hooks; true when they took it. `plain`: the hook sees it without history. */
static int pack(bool *taken, mt_saved *s, mt_tensor *t, bool plain)
{
    void *block = NULL;
    mt_tensor *alias = NULL;
    packed *p;
    int rc = -1;

    *taken = false;
    if (mt_malloc(&block, sizeof(*p)) < 0)
        return -1;
    p = block;
    *p = (packed){NULL, {NULL, 0}};
    if (!s->is_output)
        MT_TRY(mt_autograd_edge(&p->history, t));
    if (plain)
        MT_TRY(mt_tensor_new_alias(&alias, t, true));
    MT_TRY(call_pack_hook(p, alias ? alias : t));
    if (p->handle) {
        s->pack = p;
        s->packed = *taken = true;
    }
    rc = 0;
fail:
    mt_tensor_clear(&alias);
    if (!*taken)
        packed_free(p);
    return rc;
}

int mt_saved_pack(mt_node *n, mt_saved *s)
{
    mt_tensor *t = s->value.kind == MT_ARG_TENSOR ? s->value.v.tensor : NULL;
    bool taken;
    int rc = -1;

    MT_REQUIRE(!s->packed, MT_ERR_RUNTIME,
               "Calling register_hooks on a saved tensor whose hooks have already been set. Hint: only one pair of "
               "hooks is allowed at a time.");
    MT_REQUIRE(!s->released, MT_ERR_RUNTIME,
               "Calling register_hooks on a saved tensor after it has been freed. Saved intermediate values of the "
               "graph are freed when you call .backward() or autograd.grad(). Specify retain_graph=True if you need "
               "to backward through the graph a second time or if you need to access saved variables after calling "
               "backward.");
    MT_REQUIRE(t, MT_ERR_RUNTIME, "Calling register_hooks on a saved tensor with value None is forbidden");
    MT_TRY(mt_saved_read(&t, n, s, true)); /* an error when it has been changed */
    mt_tensor_unref(t);
    t = mt_tensor_ref(s->value.v.tensor);
    rc = pack(&taken, s, t, true);
    if (rc == 0 && taken && s->value.v.tensor) {
        s->value.v.tensor = NULL;
        mt_tensor_unref(t);
    }
    mt_tensor_unref(t);
fail:
    return rc;
}

void *mt_saved_handle(const mt_saved *s)
{
    return s->packed ? ((packed *)s->pack)->handle : NULL;
}

static int keep(mt_saved *s, mt_tensor *t, bool is_output, uint32_t output_nr)
{
    if (!t)
        return 0;
    if (check_saveable(t) < 0)
        return -1;
    s->version = mt_tensor_version(t);
    s->output_nr = output_nr;
    s->is_output = is_output;
    if (MT_UNLIKELY(mt_thread.slow & MT_SLOW_SAVED_HOOKS) && mt_saved_hooks.pack && !mt_tensor_is_wrapped_number(t)) {
        bool taken;

        if (pack(&taken, s, t, false) < 0)
            return -1;
        if (taken) {
            s->value.kind = MT_ARG_TENSOR;
            s->value.v.tensor = NULL;
            return 0;
        }
    }
    if (is_output) {
        if (mt_tensor_new_alias(&s->value.v.tensor, t, true) < 0)
            return -1;
    } else {
        s->value.v.tensor = mt_tensor_ref(t);
        s->has_history = t->autograd && t->autograd->grad_fn && !t->base;
    }
    s->value.kind = MT_ARG_TENSOR;
    return 0;
}

int mt_saved_set_tensor(mt_node *n, int k, mt_tensor *t, bool is_output, uint32_t output_nr)
{
    return keep(&n->saved[k], t, is_output, output_nr);
}

/* --- lists of tensors: a slot per element, behind an array of the tensors that formulas take as it is --- */

static mt_saved *items_of(const mt_saved *s)
{
    return (mt_saved *)((mt_tensor **)(uintptr_t)s->value.v.tensors.data + s->value.v.tensors.n);
}

mt_saved *mt_saved_slot(mt_node *n, int k, int item)
{
    mt_saved *s = &n->saved[k];

    return item >= 0 && s->value.kind == MT_ARG_TENSORS && item < s->value.v.tensors.n ? &items_of(s)[item] : s;
}

int mt_saved_set_tensors(mt_node *n, int k, mt_tensors list)
{
    mt_saved *s = &n->saved[k];
    int count = list.n > 0 ? list.n : 0;
    void *block = NULL;
    mt_tensor **array;

    if (list.n < 0)
        return 0;
    if (count && mt_calloc(&block, (size_t)count, sizeof(mt_tensor *) + sizeof(mt_saved)) < 0)
        return -1;
    array = block;
    s->value.kind = MT_ARG_TENSORS;
    s->value.v.tensors = (mt_tensors){array, count};
    for (int i = 0; i < count; i++) {
        if (keep(&items_of(s)[i], list.data[i], false, 0) < 0)
            return -1; /* the node goes, and what was saved with it */
        array[i] = items_of(s)[i].value.v.tensor;
    }
    return 0;
}

int mt_saved_tensors(mt_tensors *out, mt_tensor ***own, mt_node *n, int k)
{
    mt_saved *s = &n->saved[k];
    int count = s->value.kind == MT_ARG_TENSORS ? s->value.v.tensors.n : -1;
    bool packed = false;
    void *block;

    *own = NULL;
    *out = (mt_tensors){NULL, -1};
    if (s->released)
        return raise_released();
    for (int i = 0; i < count; i++) {
        const mt_saved *item = &items_of(s)[i];
        mt_tensor *t = item->packed ? NULL : item->value.v.tensor;

        packed |= item->packed;
        if (t && MT_UNLIKELY(mt_tensor_version(t) != item->version))
            return raise_version(n, item, t, item->version);
        if (t && MT_UNLIKELY(lost_history(item, t)))
            return raise_detached();
    }
    if (count >= 0)
        *out = s->value.v.tensors;
    if (MT_LIKELY(!packed))
        return 0;
    if (mt_calloc(&block, (size_t)count, sizeof(mt_tensor *)) < 0)
        return -1;
    *own = block;
    *out = (mt_tensors){*own, count};
    for (int i = 0; i < count && !s->released; i++) /* a hook may release the node */
        if (mt_saved_read(&(*own)[i], n, &items_of(s)[i], mt_thread.grad_mode) < 0)
            return -1;
    return s->released ? raise_released() : 0;
}

void mt_saved_tensors_free(mt_tensor **own, int n)
{
    for (int i = 0; own && i < n; i++)
        mt_tensor_unref(own[i]);
    mt_free(own);
}

static void drop_tensors(mt_saved *s);

static void drop_list(mt_saved *s)
{
    int n = s->value.v.tensors.n;
    mt_saved *items = items_of(s);
    void *block = (void *)(uintptr_t)s->value.v.tensors.data;

    s->value.v.tensors = (mt_tensors){NULL, -1};
    s->released = true;
    for (int i = 0; i < n; i++)
        drop_tensors(&items[i]);
    mt_free(block);
}

static int copy_numbers(const void **data, int n)
{
    void *block = NULL;

    if (n > 0) {
        if (mt_malloc(&block, (size_t)n * sizeof(int64_t)) < 0)
            return -1;
        memcpy(block, *data, (size_t)n * sizeof(int64_t));
    }
    *data = block;
    return 0;
}

int mt_saved_set_value(mt_node *n, int k, const mt_value *value)
{
    mt_saved *s = &n->saved[k];
    mt_value v = *value;
    const void *data;

    switch (v.kind) {
    case MT_ARG_TENSOR:
        return mt_saved_set_tensor(n, k, v.v.tensor, false, 0);
    case MT_ARG_TENSORS:
        return mt_saved_set_tensors(n, k, v.v.tensors);
    case MT_ARG_INTS:
    case MT_ARG_BOOLS:
        data = v.v.ints.data;
        if (copy_numbers(&data, v.v.ints.n) < 0)
            return -1;
        v.v.ints.data = data;
        break;
    case MT_ARG_FLOATS:
        data = v.v.floats.data;
        if (copy_numbers(&data, v.v.floats.n) < 0)
            return -1;
        v.v.floats.data = data;
        break;
    case MT_ARG_STR: {
        size_t bytes = strlen(v.v.str) + 1;
        void *copy;

        if (mt_malloc(&copy, bytes) < 0)
            return -1;
        v.v.str = memcpy(copy, v.v.str, bytes);
        break;
    }
    case MT_ARG_GENERATOR: /* formulas draw no numbers */
    case MT_ARG_STORAGE:
        v.kind = MT_ARG_NONE;
        break;
    default:
        break;
    }
    s->value = v;
    return 0;
}

int mt_node_replace_saved(mt_node *n, int count)
{
    void *block = NULL;

    if (count && mt_calloc(&block, (size_t)count, sizeof(mt_saved)) < 0)
        return -1;
    mt_node_free_saved(n);
    n->flags |= MT_NODE_OWN_SAVED;
    n->saved = block;
    n->n_saved = count;
    return 0;
}

/* --- dropping --- */

static void drop_tensors(mt_saved *s)
{
    if (s->packed) {
        packed *p = s->pack;

        s->packed = false;
        s->released = true;
        s->pack = NULL;
        packed_free(p);
    } else if (s->value.kind == MT_ARG_TENSOR) {
        mt_tensor *t = s->value.v.tensor;

        s->value.v.tensor = NULL; /* the kind stays: it was a tensor */
        s->released = true;
        mt_tensor_unref(t);
    } else if (s->value.kind == MT_ARG_TENSORS && s->value.v.tensors.n >= 0) {
        drop_list(s);
    }
}

void mt_node_release_saved(mt_node *n)
{
    for (int k = 0; k < n->n_saved; k++)
        drop_tensors(&n->saved[k]);
}

void mt_node_free_saved(mt_node *n)
{
    for (int k = 0; k < n->n_saved; k++) {
        mt_saved *s = &n->saved[k];

        if (s->inside)
            continue;
        switch (s->value.kind) {
        case MT_ARG_TENSOR:
        case MT_ARG_TENSORS:
            drop_tensors(s);
            break;
        case MT_ARG_INTS:
        case MT_ARG_BOOLS:
            mt_free((void *)(uintptr_t)s->value.v.ints.data);
            break;
        case MT_ARG_FLOATS:
            mt_free((void *)(uintptr_t)s->value.v.floats.data);
            break;
        case MT_ARG_STR:
            mt_free((void *)(uintptr_t)s->value.v.str);
            break;
        default:
            break;
        }
    }
    if (n->flags & MT_NODE_OWN_SAVED)
        mt_free(n->saved);
    n->saved = NULL;
    n->n_saved = 0;
}

/* --- reading --- */

/* A detached stand-in of the output, with the history that the output had when it was made. */
static int restore_output(mt_tensor **out, mt_node *n, const mt_saved *s, mt_tensor *t)
{
    mt_tensor *alias = NULL, *tangent = NULL;
    int rc = -1;

    if (s->in_place_view && n->outer)
        return mt_copy_slices_output(out, n->outer, t);
    MT_TRY(mt_tensor_new_alias(&alias, t, true));
    MT_TRY(mt_autograd_set_history(alias, n, s->output_nr));
    mt_node_held_again(n);
    if (MT_UNLIKELY(t->keys & MT_KEYS_DUAL)) {
        MT_TRY(mt_forward_tangent(&tangent, t));
        if (tangent)
            MT_TRY(mt_forward_set(alias, &tangent));
    }
    *out = mt_tensor_move(&alias);
    rc = 0;
fail:
    mt_tensor_clear(&alias);
    mt_tensor_clear(&tangent);
    return rc;
}

static int unpack_handle(mt_tensor **out, mt_node *n, const mt_saved *s, bool with_history)
{
    const packed *p = s->pack;
    mt_edge history = p->history;
    bool is_output = s->is_output; /* a saved list may be gone after the hook */
    mt_tensor *t = NULL, *alias = NULL;
    int rc = -1;

    if (history.node)
        mt_node_ref(history.node); /* the hook may drop what is saved */
    MT_TRY(mt_saved_hooks.unpack(&t, p->handle));
    if (!with_history) {
        *out = mt_tensor_move(&t);
    } else if (is_output) {
        MT_TRY(restore_output(out, n, s, t));
    } else {
        MT_TRY(mt_tensor_new_alias(&alias, t, true));
        if (history.node)
            MT_TRY(mt_autograd_share_edge(alias, &history));
        *out = mt_tensor_move(&alias);
    }
    rc = 0;
fail:
    mt_node_unref(history.node);
    mt_tensor_clear(&alias);
    mt_tensor_clear(&t);
    return rc;
}

int mt_saved_read(mt_tensor **out, mt_node *n, const mt_saved *s, bool with_history)
{
    mt_tensor *t;

    *out = NULL;
    t = s->value.kind == MT_ARG_TENSOR ? s->value.v.tensor : NULL;
    if (MT_UNLIKELY(!t)) /* absent, in the hands of a hook, or gone */
        return s->packed ? unpack_handle(out, n, s, with_history) : s->released ? raise_released() : 0;
    if (MT_UNLIKELY(mt_tensor_version(t) != s->version))
        return raise_version(n, s, t, s->version);
    if (MT_UNLIKELY(with_history && s->is_output))
        return restore_output(out, n, s, t);
    *out = mt_tensor_ref(t);
    return 0;
}

int mt_saved_tensor(mt_tensor **out, mt_node *n, int k)
{
    const mt_saved *s = &n->saved[k];

    if (s->has_history && s->value.v.tensor && MT_UNLIKELY(lost_history(s, s->value.v.tensor))) {
        *out = NULL;
        return raise_detached();
    }
    return mt_saved_read(out, n, s, mt_thread.grad_mode);
}

int mt_saved_check(mt_node *n)
{
    for (int k = 0; k < n->n_saved; k++)
        if (n->saved[k].released)
            return raise_released();
    return 0;
}
