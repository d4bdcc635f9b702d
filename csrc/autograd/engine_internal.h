/* SPDX-License-Identifier: BSD-3-Clause */
/* State of one run of the graph, shared by engine.c (the loop), engine_plan.c (what is to be run)
   and backward.c (the front door). */
#ifndef MT_AUTOGRAD_ENGINE_INTERNAL_H
#define MT_AUTOGRAD_ENGINE_INTERNAL_H

#include <stddef.h>

#include "autograd/autograd_internal.h"

/* marks of a node in a run with given inputs */
enum {
    MT_MARK_NEEDED = 1,  /* the node is executed: it leads to an input */
    MT_MARK_SEEN = 2,    /* by the search for needed nodes */
    MT_MARK_CAPTURE = 4, /* gradients that arrive here are results */
    MT_MARK_WANTED = MT_MARK_NEEDED | MT_MARK_CAPTURE
};

typedef struct mt_ready {
    uint64_t sequence, order;
    mt_node *node;
    mt_node_run *state;
} mt_ready;

typedef struct mt_capture {
    mt_edge edge; /* owned */
    int next;     /* of the same node, -1: last */
} mt_capture;

/* A node that another live run has claimed. */
typedef struct mt_side_entry {
    mt_node *node;
    mt_node_run state;
} mt_side_entry;

typedef struct mt_callback {
    int (*run)(void *ctx);
    void (*destroy)(void *ctx);
    void *ctx;
} mt_callback;

#define MT_INLINE_READY 16

typedef struct mt_run {
    uint64_t id;
    unsigned flags;
    bool selective;           /* only what leads to the inputs is run */
    mt_thread_state state;    /* in which every node starts; saved_hooks are owned */
    struct mt_run *next_live; /* all live runs, on all threads */
    struct mt_run *caller;    /* the run this one is nested in */
    mt_node *current;
    mt_node *claimed, *last_claimed; /* through state->next */
    mt_ready *ready;                 /* binary heap */
    int64_t n_ready, ready_room;
    uint64_t order;
    mt_side_entry **side; /* open addressing by node, a power of two in size */
    int64_t n_side, side_room;
    mt_edge *root; /* owned edges */
    int n_roots;
    mt_capture *capture;
    int n_captures;
    mt_tensor **result;
    mt_callback *callback;
    int n_callbacks, callback_room;
    mt_ready inline_ready[MT_INLINE_READY];
} mt_run;

/* The state of a node in this run; NULL when the run does not reach it. */
mt_node_run *mt_run_state_slow(const mt_run *run, const mt_node *n);

static inline mt_node_run *mt_run_state(const mt_run *run, mt_node *n)
{
    return MT_LIKELY(n->run.task == run->id) ? &n->run : mt_run_state_slow(run, n);
}

/* Claims everything reachable from the roots, counts dependencies, and finds what is needed. */
int mt_run_plan(mt_run *run);
/* Runs the graph; root_grad are consumed as far as they were handed over. The second form goes to
   another thread when this one is deep in nested runs. */
int mt_run_execute(mt_run *run, mt_tensor **root_grad);
int mt_run_execute_nested(mt_run *run, mt_tensor **root_grad);
/* Drops gradients that were on their way. */
void mt_run_forget(mt_run *run);
extern mt_run *mt_live_runs;

#endif
