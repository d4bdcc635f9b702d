/* SPDX-License-Identifier: BSD-3-Clause */
/* The reduction skeleton: from the op OP of the dtype in scope to one kernel and `static const mt_cuda_reduce <OP>_<XS>`.
   What a state is and how elements join it is in reduce_state.tmpl.cuh. Threads keep states of their own, which a block
   joins in shared memory by halves; nothing is atomic, so equal calls give equal bits. */

#define SYMBOL(part) MT_JOIN(MT_LOOP_SYMBOL(OP, XS), part)
#define STATE SYMBOL(_state)
#define OF_MONOID(part) MT_FORMULA(MT_JOIN(MT_JOIN(MT_REDUCE_MONOID_, OP), part), S)
#define OF_OP(part) MT_FORMULA(MT_JOIN(OP, part), S)
#include "cuda/reduce_state.tmpl.cuh"

static __device__ __forceinline__ void SYMBOL(_collect)(STATE *s, const mt_cuda_reduce_args *g, const char *in,
                                                        int64_t output, int64_t split, int64_t lane)
{
    int64_t end = (split + 1) * g->per_split;

    if (g->stage == 1) {
        const STATE *p = (const STATE *)g->partial + output * g->n_splits;

        for (int64_t i = lane; i < g->n_splits; i += g->lanes)
            SYMBOL(_merge)(s, p + i, g->params);
        return;
    }
    if (end > g->n_in)
        end = g->n_in;
    for (int64_t i = split * g->per_split + lane; i < end; i += g->lanes) {
        int64_t at = 0, rest = i;

        if (g->reduced.n == 1)
            at = i * g->reduced_stride[0];
        else
            for (int d = 0; d < g->reduced.n; d++)
                at += mt_cuda_split(&rest, &g->reduced, d) * g->reduced_stride[d];
        SYMBOL(_add)(s, LOAD(*(const X *)(in + at)), i, g->params);
    }
}

static __global__ void SYMBOL(_kernel)(const MT_GRID_CONSTANT mt_cuda_reduce_args g)
{
    __shared__ STATE states[MT_CUDA_BLOCK];
    const unsigned outputs = MT_CUDA_BLOCK / (unsigned)g.lanes, unit = g.by_columns ? outputs : 1u;
    const unsigned lane = g.by_columns ? threadIdx.x / outputs : threadIdx.x % (unsigned)g.lanes;
    const unsigned slot = g.by_columns ? threadIdx.x % outputs : threadIdx.x / (unsigned)g.lanes;

    for (int64_t first = (int64_t)blockIdx.x * outputs; first < g.n_out; first += (int64_t)gridDim.x * outputs) {
        int64_t output = first + slot, rest = output, at[3] = {0, 0, 0};
        STATE s = SYMBOL(_start)(g.params);

        if (output < g.n_out) {
            for (int d = 0; d < g.kept.n; d++) {
                int64_t column = mt_cuda_split(&rest, &g.kept, d);

                for (int k = 0; k < 3; k++)
                    at[k] += column * g.kept_stride[d][k];
            }
            SYMBOL(_collect)(&s, &g, g.in + at[0], output, blockIdx.y, lane);
        }
        states[threadIdx.x] = s;
        for (unsigned half = (unsigned)g.lanes / 2; half > 0; half /= 2) {
            __syncthreads();
            if (lane < half)
                SYMBOL(_merge)(&states[threadIdx.x], &states[threadIdx.x + half * unit], g.params);
        }
        if (lane == 0 && output < g.n_out) {
            if (g.stage == 0 && g.n_splits > 1)
                ((STATE *)g.partial)[output * g.n_splits + blockIdx.y] = states[threadIdx.x];
            else
                SYMBOL(_finish)(g.out[0] + at[1], g.out[1] + at[2], &states[threadIdx.x], g.count, g.params);
        }
        __syncthreads();
    }
}

static void SYMBOL(_launch)(const mt_cuda_reduce_args *args, unsigned blocks, void *stream)
{
    dim3 grid(blocks, args->stage == 0 ? (unsigned)args->n_splits : 1u, 1);

    MT_LAUNCH(SYMBOL(_kernel), grid, MT_CUDA_BLOCK, 0, stream, *args);
}

static const mt_cuda_reduce MT_LOOP_SYMBOL(OP, XS) = {SYMBOL(_launch), (int32_t)sizeof(STATE)};

#undef SYMBOL
#undef STATE
#undef OF_MONOID
#undef OF_OP
