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
    const int64_t st = stride[0], si = stride[1], sv = stride[2];

    if (si == 0 && st == sizeof(X) && sv == sizeof(X)) {
        int64_t v = *(const int64_t *)(const void *)data[1];
        X *target = (X *)(void *)(data[0] + (v + (v < 0 ? p->wrap : 0)) * p->step);
        const X *value = (const X *)(const void *)data[2];

        MT_IVDEP
        for (int64_t i = 0; i < n; i++)
            target[i] = STORE(COMBINE(LOAD(target[i]), LOAD(value[i])));
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        int64_t v = *(const int64_t *)(const void *)(data[1] + i * si);
        X *target = (X *)(void *)(data[0] + i * st + (v + (v < 0 ? p->wrap : 0)) * p->step);
        const X *value = (const X *)(const void *)(data[2] + i * sv);

        *target = STORE(COMBINE(LOAD(*target), LOAD(*value)));
    }
}

#undef LOOP_NAME
