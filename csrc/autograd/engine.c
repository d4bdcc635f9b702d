/* SPDX-License-Identifier: BSD-3-Clause */
/* The second half of a run: nodes are taken from a heap, latest first, once all their gradients
   have arrived; gradients are handed on by moving them. A run happens in the calling thread. Runs
   may be nested (a hook calls backward) and several threads may have runs on one graph; each keeps
   its own counts. After an error every node is as it was, except that saved values of nodes already
   run are gone when the graph is not retained. */
#include "autograd/engine_internal.h"

#include <string.h>

#include "base/alloc.h"

#define MAX_NESTING 60 /* runs on one stack; further ones go to another thread */
#define INLINE_EDGES 8

int (*mt_engine_hop)(int (*body)(void *arg), void *arg, int nested);

static MT_THREAD_LOCAL_FAST struct {
    mt_run *run;
    int depth;  /* runs on this stack */
    int before; /* runs on the stacks of the threads that wait for this one */
} mine;
static uint64_t next_run_id = 1;

/* --- the heap --- */

static inline bool comes_first(const mt_ready *a, const mt_ready *b)
{
    return a->sequence != b->sequence ? a->sequence > b->sequence : a->order < b->order;
}

static int heap_grow(mt_run *run)
{
    int64_t room = 2 * run->ready_room;
    void *block = run->ready == run->inline_ready ? NULL : run->ready;

    if (mt_realloc(&block, (size_t)room * sizeof(mt_ready)) < 0)
        return -1;
    if (run->ready == run->inline_ready)
        memcpy(block, run->inline_ready, sizeof(run->inline_ready));
    run->ready = block;
    run->ready_room = room;
    return 0;
}

static int heap_push(mt_run *run, mt_node *n, mt_node_run *state)
{
    mt_ready item = {n->sequence, run->order++, n, state};
    int64_t i = run->n_ready;

    if (MT_UNLIKELY(i == run->ready_room) && heap_grow(run) < 0)
        return -1;
    run->n_ready++;
    while (i > 0 && comes_first(&item, &run->ready[(i - 1) / 2])) {
        run->ready[i] = run->ready[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    run->ready[i] = item;
    return 0;
}

static mt_ready heap_pop(mt_run *run)
{
    mt_ready first = run->ready[0], last = run->ready[--run->n_ready];
    int64_t n = run->n_ready, i = 0;

    for (int64_t child = 1; child < n; child = 2 * i + 1) {
        if (child + 1 < n && comes_first(&run->ready[child + 1], &run->ready[child]))
            child++;
        if (!comes_first(&run->ready[child], &last))
            break;
        run->ready[i] = run->ready[child];
        i = child;
    }
    run->ready[i] = last;
    return first;
}

/* --- handing gradients on --- */

/* Consumes *grad. */
static int deliver(mt_run *run, const mt_edge *e, mt_tensor **grad)
{
    mt_node *n = e->node;
    mt_node_run *state = mt_run_state(run, n);
    mt_tensor **slot = &state->grad.one;

    if (run->selective && !(state->mark & MT_MARK_WANTED)) {
        mt_tensor_clear(grad);
        return 0;
    }
    if (*grad && n->n_inputs != 1) {
        if (!state->grad.many) {
            void *block;

            if (mt_calloc(&block, (size_t)n->n_inputs, sizeof(mt_tensor *)) < 0)
                return -1;
            state->grad.many = block;
        }
        slot = &state->grad.many[e->input];
    }
    if (*grad) {
        if (!*slot)
            *slot = mt_tensor_move(grad);
        else if (mt_gradient_add(slot, grad) < 0)
            return -1;
    }
    return --state->dependencies == 0 ? heap_push(run, n, state) : 0;
}

static int fit_result(mt_node *n, int i, mt_tensor **grad)
{
    const mt_edge *e = &n->edge[i];
    mt_input_meta want = mt_node_input(e->node, (int)e->input);

    return MT_LIKELY(mt_gradient_fits(*grad, &want)) ? 0 : mt_gradient_fit(grad, n, i, &want);
}

static int hand_on(mt_run *run, mt_node *n, mt_tensor **out)
{
    for (int i = 0; i < n->n_edges; i++) {
        const mt_edge *e = &n->edge[i];

        if (!e->node) {
            mt_tensor_clear(&out[i]);
            continue;
        }
        if (out[i] && fit_result(n, i, &out[i]) < 0)
            return -1;
        if (deliver(run, e, &out[i]) < 0)
            return -1;
    }
    return 0;
}

/* --- one node --- */

static mt_hook *leaf_hooks(const mt_node *n)
{
    const mt_tensor *t = mt_node_variable(n);

    return t && t->autograd ? t->autograd->hooks : NULL;
}

static int run_tensor_hooks(mt_node *n, mt_hook_frame *frame)
{
    mt_hook *of_leaf = leaf_hooks(n);

    if (of_leaf && mt_hooks_run(of_leaf, MT_HOOK_TENSOR, frame) < 0)
        return -1;
    if (!n->hooks)
        return 0;
    if (mt_hooks_run(n->hooks, MT_HOOK_TENSOR, frame) < 0)
        return -1;
    return mt_hooks_run_retain(n->hooks, frame);
}

static void capture(mt_run *run, const mt_node_run *state, mt_tensor *const *grads)
{
    for (int i = (int)state->capture; i >= 0; i = run->capture[i].next) {
        mt_tensor *g = grads[run->capture[i].edge.input], *old = run->result[i];

        run->result[i] = g ? mt_tensor_ref(g) : NULL;
        mt_tensor_unref(old);
    }
}

static int run_leaf(mt_node *n, mt_hook_frame *frame)
{
    mt_tensor *variable = n->data;
    mt_hook *of_leaf;
    bool keep = n->hooks && mt_hook_find(n->hooks, NULL, MT_HOOK_POST, 0);

    if (frame->grads[0] && mt_accumulate_leaf(variable, &frame->grads[0], keep) < 0)
        return -1;
    of_leaf = leaf_hooks(n);
    if (of_leaf) {
        frame->variable = variable;
        if (mt_hooks_run(of_leaf, MT_HOOK_POST_ACCUMULATE, frame) < 0)
            return -1;
    }
    return n->hooks ? mt_hooks_run(n->hooks, MT_HOOK_POST, frame) : 0;
}

static bool any_defined(mt_tensor *const *grads, int n)
{
    for (int i = 0; i < n; i++)
        if (grads[i])
            return true;
    return false;
}

/* Hooks of the node see its results as they are handed on. */
MT_NOINLINE static int run_post_hooks(mt_node *n, mt_hook_frame *frame)
{
    if (!mt_hook_find(n->hooks, NULL, MT_HOOK_POST, 0))
        return 0;
    for (int i = 0; i < n->n_edges; i++)
        if (n->edge[i].node && frame->results[i] && fit_result(n, i, &frame->results[i]) < 0)
            return -1;
    return mt_hooks_run(n->hooks, MT_HOOK_POST, frame);
}

static int run_formula(mt_run *run, mt_node *n, mt_hook_frame *frame)
{
    int rc = 0;

    if (any_defined(frame->grads, n->n_inputs) || (n->flags & MT_NODE_CUSTOM)) {
        n->busy++;
        rc = n->ops->run(n, frame->grads, frame->results);
        n->busy--;
    }
    if (rc < 0)
        return -1;
    rc = -1;
    if (MT_UNLIKELY(n->hooks != NULL))
        MT_TRY(run_post_hooks(n, frame));
    if (!(run->flags & MT_RUN_RETAIN_GRAPH) && n->ops->release && !n->busy)
        n->ops->release(n);
    if (MT_UNLIKELY(mt_anomaly.enabled) && mt_anomaly.check_nan && mt_anomaly.check)
        MT_TRY(mt_anomaly.check(n, frame->results, frame->n_results));
    rc = 0;
fail:
    return rc;
}

/* Gradients of one node, with results for its edges on the stack or on the heap. */
static int run_inner(mt_run *run, mt_node *n, mt_hook_frame *frame)
{
    mt_tensor *few[INLINE_EDGES];
    void *block = few;
    int rc = -1;

    if (n->n_edges > INLINE_EDGES && mt_malloc(&block, (size_t)n->n_edges * sizeof(mt_tensor *)) < 0)
        return -1;
    frame->results = block;
    frame->n_results = n->n_edges;
    for (int i = 0; i < n->n_edges; i++)
        frame->results[i] = NULL;
    MT_TRY(run_formula(run, n, frame));
    for (int i = 0; i < n->n_inputs; i++) /* so that results have one owner */
        mt_tensor_clear(&frame->grads[i]);
    MT_TRY(hand_on(run, n, frame->results));
    rc = 0;
fail:
    if (rc < 0)
        for (int i = 0; i < n->n_edges; i++)
            mt_tensor_clear(&frame->results[i]);
    if (block != few)
        mt_free(block);
    return rc;
}

static int run_with_hooks(mt_run *run, mt_node *n, mt_node_run *state, mt_hook_frame *frame)
{
    bool executed = !run->selective || (state->mark & MT_MARK_NEEDED);

    /* A capture sees the tensor hooks only where the node itself is not executed, as in PyTorch. */
    if (!executed && run_tensor_hooks(n, frame) < 0)
        return -1;
    if (state->mark & MT_MARK_CAPTURE)
        capture(run, state, frame->grads);
    if (!executed)
        return 0;
    if (run_tensor_hooks(n, frame) < 0)
        return -1;
    if (n->hooks && mt_hooks_run(n->hooks, MT_HOOK_PRE, frame) < 0)
        return -1;
    return n->flags & MT_NODE_ACCUMULATE ? run_leaf(n, frame) : run_inner(run, n, frame);
}

static int step(mt_run *run, const mt_ready *item)
{
    mt_node *n = item->node;
    mt_node_run *state = item->state;
    mt_tensor *one;
    void *block = &one;
    mt_hook_frame frame;
    int rc;

    if (n->n_inputs == 1) {
        one = mt_tensor_move(&state->grad.one);
    } else {
        block = state->grad.many;
        state->grad.many = NULL;
        if (!block && mt_calloc(&block, (size_t)n->n_inputs, sizeof(mt_tensor *)) < 0)
            return -1;
    }
    frame = (mt_hook_frame){n, block, NULL, n->n_inputs, 0, 0, NULL};
    run->current = n;
    rc = run_with_hooks(run, n, state, &frame);
    run->current = NULL;
    if (MT_UNLIKELY(rc < 0 && mt_anomaly.enabled) && mt_anomaly.failed)
        mt_anomaly.failed(n);
    for (int i = 0; i < n->n_inputs; i++)
        mt_tensor_unref(frame.grads[i]);
    if (block != &one)
        mt_free(block);
    return rc;
}

/* --- the state of the thread --- */

MT_COLD static void set_saved_hooks(void *hooks)
{
    void *old = mt_thread.saved_hooks;

    if (hooks)
        mt_saved_hooks.hold(hooks);
    mt_thread.saved_hooks = hooks;
    mt_thread.slow = hooks ? mt_thread.slow | MT_SLOW_SAVED_HOOKS : mt_thread.slow & ~(uint32_t)MT_SLOW_SAVED_HOOKS;
    if (old)
        mt_saved_hooks.drop(old);
}

/* A hook or a Function may have changed what it likes; the next node does not see that, nor does the caller of the run. */
static inline void set_state(const mt_thread_state *s)
{
    mt_thread.include = s->include;
    mt_thread.exclude = s->exclude;
    mt_thread.autocast = s->autocast;
    mt_thread.grad_mode = s->grad_mode;
    mt_thread.inference_mode = s->inference_mode;
    mt_thread.mode_in_inference = s->mode_in_inference;
    if (MT_UNLIKELY(mt_thread.saved_hooks != s->saved_hooks))
        set_saved_hooks(s->saved_hooks);
}

/* --- the run --- */

static int run_callbacks(mt_run *run)
{
    for (int i = 0; i < run->n_callbacks; i++) {
        mt_callback c = run->callback[i];
        int rc;

        run->callback[i].destroy = NULL;
        rc = c.run(c.ctx);
        if (c.destroy)
            c.destroy(c.ctx);
        if (rc < 0)
            return -1;
    }
    return 0;
}

static int run_graph(mt_run *run, mt_tensor **root_grad)
{
    if (mt_run_plan(run) < 0)
        return -1;
    for (int i = 0; i < run->n_roots; i++)
        if (deliver(run, &run->root[i], &root_grad[i]) < 0)
            return -1;
    while (run->n_ready) {
        mt_ready item = heap_pop(run);

        if (step(run, &item) < 0)
            return -1;
        set_state(&run->state);
    }
    return run_callbacks(run);
}

static void enter(mt_run *run)
{
    run->id = next_run_id++;
    run->ready = run->inline_ready;
    run->ready_room = MT_INLINE_READY;
    run->next_live = mt_live_runs;
    mt_live_runs = run;
    run->caller = mine.run;
    mine.run = run;
    mine.depth++;
}

static void leave(mt_run *run)
{
    mt_run **at = &mt_live_runs;

    while (*at != run)
        at = &(*at)->next_live;
    *at = run->next_live;
    mine.run = run->caller;
    mine.depth--;
    for (int i = 0; i < run->n_callbacks; i++)
        if (run->callback[i].destroy)
            run->callback[i].destroy(run->callback[i].ctx);
    mt_free(run->callback);
    for (int64_t i = 0; i < run->side_room; i++)
        mt_free(run->side[i]);
    mt_free(run->side);
    if (run->ready != run->inline_ready)
        mt_free(run->ready);
}

int mt_run_execute(mt_run *run, mt_tensor **root_grad)
{
    mt_thread_state before = mt_thread;
    bool record = (run->flags & MT_RUN_CREATE_GRAPH) != 0;
    int rc;

    enter(run);
    if (before.saved_hooks)
        mt_saved_hooks.hold(before.saved_hooks);
    mt_grad_scope_enter(record);
    mt_thread.mode_in_inference = record;
    run->state = mt_thread;
    rc = run_graph(run, root_grad);
    if (rc < 0)
        mt_run_forget(run);
    set_state(&before);
    if (before.saved_hooks)
        mt_saved_hooks.drop(before.saved_hooks);
    leave(run);
    return rc;
}

/* --- deep nesting --- */

typedef struct hop {
    mt_run *run;
    mt_tensor **root_grad;
    mt_thread_state state;
    int before;
    mt_error_kind kind;
    char message[1024];
} hop;

static int hop_body(void *arg)
{
    hop *h = arg;
    mt_thread_state before = mt_thread;
    int rc;

    mt_thread = h->state;
    mine.before = h->before;
    rc = mt_run_execute(h->run, h->root_grad);
    mine.before = 0;
    mt_thread = before;
    if (rc < 0) {
        h->kind = mt_error_get();
        strncpy(h->message, mt_error_message(), sizeof(h->message) - 1);
    }
    return rc;
}

MT_NOINLINE static int execute_elsewhere(mt_run *run, mt_tensor **root_grad)
{
    hop h = {run, root_grad, mt_thread, mine.before + mine.depth, MT_ERR_NONE, ""};

    if (!mt_engine_hop)
        return mt_error_set(MT_ERR_RUNTIME, "backward is nested too deeply");
    if (mt_engine_hop(hop_body, &h, h.before) < 0) {
        if (h.kind != MT_ERR_NONE)
            mt_error_set(h.kind, "%s", h.message);
        return -1;
    }
    return 0;
}

int mt_run_execute_nested(mt_run *run, mt_tensor **root_grad)
{
    return MT_UNLIKELY(mine.depth >= MAX_NESTING) ? execute_elsewhere(run, root_grad) : mt_run_execute(run, root_grad);
}

/* --- asked from inside a run --- */

bool mt_engine_is_running(void)
{
    return mine.run != NULL;
}

bool mt_engine_is_unrestricted(void)
{
    for (const mt_run *run = mine.run; run; run = run->caller)
        if (run->selective)
            return false;
    return true;
}

int64_t mt_engine_current_run(void)
{
    return mine.run ? (int64_t)mine.run->id : -1;
}

mt_node *mt_engine_current_node(void)
{
    return mine.run ? mine.run->current : NULL;
}

const mt_edge *mt_engine_roots(int *n)
{
    *n = mine.run ? mine.run->n_roots : 0;
    return mine.run ? mine.run->root : NULL;
}

bool mt_engine_keeps_graph(void)
{
    return !mine.run || (mine.run->flags & MT_RUN_RETAIN_GRAPH);
}

bool mt_engine_wants(mt_node *n)
{
    mt_node_run *state = mine.run ? mt_run_state(mine.run, n) : NULL;

    return state && (!mine.run->selective || (state->mark & MT_MARK_WANTED));
}

int mt_engine_will_execute(bool *out, mt_node *n)
{
    mt_node_run *state = mine.run ? mt_run_state(mine.run, n) : NULL;
    bool captured = state && mine.run->selective && (state->mark & MT_MARK_CAPTURE);
    int rc = -1;

    MT_REQUIRE(mine.run, MT_ERR_RUNTIME, "_get_should_execute_nodes should only be called during the backward pass");
    MT_REQUIRE(!captured || (mine.run->flags & MT_RUN_ACCUMULATE) || !(n->flags & MT_NODE_ACCUMULATE), MT_ERR_RUNTIME,
               "A leaf node was passed to _will_engine_execute_node but we are currently running autograd.grad(). This "
               "is currently not supported.");
    *out = mt_engine_wants(n);
    rc = 0;
fail:
    return rc;
}

int mt_engine_queue_callback(int (*run_it)(void *ctx), void (*destroy)(void *ctx), void *ctx)
{
    mt_run *run = mine.run;
    int rc = -1;

    MT_REQUIRE(run, MT_ERR_RUNTIME, "Final callbacks can only be installed during backward pass.");
    if (run->n_callbacks == run->callback_room) {
        int room = run->callback_room ? 2 * run->callback_room : 4;
        void *block = run->callback;

        MT_TRY(mt_realloc(&block, (size_t)room * sizeof(mt_callback)));
        run->callback = block;
        run->callback_room = room;
    }
    run->callback[run->n_callbacks++] = (mt_callback){run_it, destroy, ctx};
    rc = 0;
fail:
    return rc;
}
