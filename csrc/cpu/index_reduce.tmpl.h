/* SPDX-License-Identifier: BSD-3-Clause */
/* Sums and other combinations at indexed places, for the dtype in scope: target = op(target, value), one element after the
   other, so that repeated places add up. Half formats are rounded at every step, as PyTorch does. */
#ifndef T
#include "cpu/index_move.h"
#include "cpu/vec.h"
#include "math/binary.h"
#include "math/dtype/f32.h"
#define STEP add
#define COMBINE(a, b) FN(add)((a), (b), alpha)
#endif

#define LOOP_NAME MT_LOOP_SYMBOL(MT_JOIN(STEP, _at), XS)

/* data: target (written), index, values */
static void LOOP_NAME(char *const *data, const int64_t *stride, int64_t n, const void *params)
{
    const mt_index_params *p = params;
    const T alpha MT_UNUSED = *(const T *)(const void *)p->alpha;
    const int64_t st = stride[0], si = stride[1], sv = stride[2], wrap = p->wrap, step = p->step;
    char *const base = data[0];
    const char *const index = data[1], *const values = data[2];

    if (si == 0 && st == sizeof(X) && sv == sizeof(X)) {
        int64_t v = *(const int64_t *)(const void *)index;
        X *target = (X *)(void *)(base + (v + (v >> 63 & wrap)) * step);
        const X *value = (const X *)(const void *)values;

        MT_IVDEP
        for (int64_t i = 0; i < n; i++)
            target[i] = STORE(COMBINE(LOAD(target[i]), LOAD(value[i])));
        return;
    }
    if (wrap == 0 && st == 0 && si == sizeof(int64_t) && sv == sizeof(X) && step == sizeof(X)) {
        const int64_t *at = (const int64_t *)(const void *)index;
        const X *value = (const X *)(const void *)values;
        X *target = (X *)(void *)base;

        for (int64_t i = 0; i < n; i++)
            target[at[i]] = STORE(COMBINE(LOAD(target[at[i]]), LOAD(value[i])));
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        int64_t v = *(const int64_t *)(const void *)(index + i * si);
        X *target = (X *)(void *)(base + i * st + (v + (v >> 63 & wrap)) * step);
        const X *value = (const X *)(const void *)(values + i * sv);

        *target = STORE(COMBINE(LOAD(*target), LOAD(*value)));
    }
}

#undef LOOP_NAME
