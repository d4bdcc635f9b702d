/* SPDX-License-Identifier: BSD-3-Clause */
/* The first half of a run: which nodes it reaches, how many gradients each of them waits for, and,
   when inputs were named, which nodes lead to them. A run claims a node by writing its id into it;
   a node that another live run holds gets an entry in a side table instead. Walks use lists through
   the nodes or a stack on the heap, never recursion. */
#include "autograd/engine_internal.h"

#include <string.h>

#include "base/alloc.h"

mt_run *mt_live_runs;

/* --- claims --- */

static size_t side_slot(const mt_run *run, const mt_node *n)
{
    size_t mask = (size_t)run->side_room - 1;
    size_t i = ((uintptr_t)n / 64 * 0x9E3779B97F4A7C15u >> 20) & mask;

    while (run->side[i] && run->side[i]->node != n)
        i = (i + 1) & mask;
    return i;
}

mt_node_run *mt_run_state_slow(const mt_run *run, const mt_node *n)
{
    mt_side_entry *e;

    if (!run->n_side)
        return NULL;
    e = run->side[side_slot(run, n)];
    return e ? &e->state : NULL;
}

static int side_grow(mt_run *run)
{
    mt_side_entry **old = run->side;
    int64_t old_room = run->side_room;
    void *block;

    run->side_room = old_room ? 2 * old_room : 64;
    if (mt_calloc(&block, (size_t)run->side_room, sizeof(*run->side)) < 0) {
        run->side_room = old_room;
        return -1;
    }
    run->side = block;
    for (int64_t i = 0; i < old_room; i++)
        if (old[i])
            run->side[side_slot(run, old[i]->node)] = old[i];
    mt_free(old);
    return 0;
}

MT_NOINLINE static int side_claim(mt_node_run **out, mt_run *run, mt_node *n)
{
    mt_side_entry *e;
    void *block;

    if (2 * (run->n_side + 1) > run->side_room && side_grow(run) < 0)
        return -1;
    if (mt_malloc(&block, sizeof(*e)) < 0)
        return -1;
    e = block;
    e->node = n;
    run->side[side_slot(run, n)] = e;
    run->n_side++;
    *out = &e->state;
    return 0;
}

static bool held_by_other(const mt_run *run, const mt_node *n)
{
    for (const mt_run *other = mt_live_runs; other; other = other->next_live)
        if (other != run && other->id == n->run.task)
            return true;
    return false;
}

/* The state of n, new or not. */
static int claim(mt_node_run **out, mt_run *run, mt_node *n)
{
    mt_node_run *state = mt_run_state(run, n);

    if (!state) {
        state = &n->run;
        if (MT_UNLIKELY(mt_live_runs->next_live && held_by_other(run, n)) && side_claim(&state, run, n) < 0)
            return -1;
        *state = (mt_node_run){run->id, 0, 0, 0, {NULL}, NULL};
        if (run->claimed)
            mt_run_state(run, run->last_claimed)->next = n;
        else
            run->claimed = n;
        run->last_claimed = n;
    }
    *out = state;
    return 0;
}

static int count_dependencies(mt_run *run)
{
    mt_node_run *state;

    for (int i = 0; i < run->n_roots; i++) {
        if (claim(&state, run, run->root[i].node) < 0)
            return -1;
        state->dependencies++;
    }
    for (mt_node *n = run->claimed; n; n = mt_run_state(run, n)->next)
        for (int i = 0; i < n->n_edges; i++) {
            if (!n->edge[i].node)
                continue;
            if (claim(&state, run, n->edge[i].node) < 0)
                return -1;
            state->dependencies++;
        }
    return 0;
}

/* --- needed nodes --- */

typedef struct frame {
    mt_node *node;
    mt_node_run *state;
    int edge;
} frame;

static int push(frame **stack, int64_t *n, int64_t *room, mt_node *node, mt_node_run *state)
{
    if (*n == *room) {
        void *block = *stack;

        *room = *room ? 2 * *room : 64;
        if (mt_realloc(&block, (size_t)*room * sizeof(frame)) < 0)
            return -1;
        *stack = block;
    }
    state->mark |= MT_MARK_SEEN;
    (*stack)[(*n)++] = (frame){node, state, 0};
    return 0;
}

/* Depth first from one root: a node is needed when a node behind one of its edges is wanted. */
static int search(mt_run *run, frame **stack, int64_t *room, mt_node *root)
{
    mt_node_run *state = mt_run_state(run, root);
    int64_t n = 0;

    if (!(state->mark & MT_MARK_SEEN) && push(stack, &n, room, root, state) < 0)
        return -1;
    while (n) {
        frame *top = &(*stack)[n - 1];
        mt_node *next;

        if (top->edge == top->node->n_edges) {
            n--;
            if (n && (top->state->mark & MT_MARK_WANTED))
                (*stack)[n - 1].state->mark |= MT_MARK_NEEDED;
            continue;
        }
        next = top->node->edge[top->edge++].node;
        if (!next)
            continue;
        state = mt_run_state(run, next);
        if (state->mark & MT_MARK_WANTED)
            top->state->mark |= MT_MARK_NEEDED;
        if (!(state->mark & MT_MARK_SEEN) && push(stack, &n, room, next, state) < 0)
            return -1;
    }
    return 0;
}

static int find_needed(mt_run *run)
{
    frame *stack = NULL;
    int64_t room = 0;
    int rc = -1;

    for (int i = run->n_captures - 1; i >= 0; i--) {
        mt_capture *c = &run->capture[i];
        mt_node_run *state = c->edge.node ? mt_run_state(run, c->edge.node) : NULL;

        if (!state)
            continue;
        if (run->flags & MT_RUN_ACCUMULATE) {
            state->mark |= MT_MARK_NEEDED;
            continue;
        }
        c->next = state->mark & MT_MARK_CAPTURE ? (int)state->capture : -1;
        state->mark |= MT_MARK_CAPTURE;
        state->capture = (uint32_t)i;
    }
    for (int i = 0; i < run->n_roots; i++)
        MT_TRY(search(run, &stack, &room, run->root[i].node));
    rc = 0;
fail:
    mt_free(stack);
    return rc;
}

int mt_run_plan(mt_run *run)
{
    if (count_dependencies(run) < 0)
        return -1;
    return run->selective ? find_needed(run) : 0;
}

/* --- the end --- */

static void drop_gradients(mt_node *n, mt_node_run *state)
{
    mt_tensor **many = state->grad.many;

    if (n->n_inputs == 1) {
        mt_tensor_clear(&state->grad.one);
        return;
    }
    state->grad.many = NULL;
    for (int i = 0; many && i < n->n_inputs; i++)
        mt_tensor_unref(many[i]);
    mt_free(many);
}

void mt_run_forget(mt_run *run)
{
    mt_node *n = run->claimed;

    run->claimed = NULL;
    while (n) {
        mt_node_run *state = mt_run_state(run, n);

        drop_gradients(n, state);
        n = state->next;
    }
}
