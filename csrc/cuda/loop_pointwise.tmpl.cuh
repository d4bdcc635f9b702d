/* SPDX-License-Identifier: BSD-3-Clause */
/* The pointwise skeleton: from the formula OP of the dtype in scope to one kernel and the host function <LOOP>_<XS> that
   launches it, a mt_loop_fn whose params are a mt_cuda_launch. Each thread takes every (number of threads)-th element.
   Macros are those of the CPU skeleton, cpu/README.md; N_IN and N_PARAMS are always given. */

#if defined(LOOP)
#define LOOP_STEM LOOP
#else
#define LOOP_STEM OP
#endif
#define LOOP_NAME MT_LOOP_SYMBOL(LOOP_STEM, XS)
#define KERNEL_NAME MT_LOOP_SYMBOL(LOOP_STEM, MT_JOIN(XS, _kernel))

#if defined(OUT_BOOL) && OUT_BOOL
#define OUT uint8_t
#define PUT(result) ((uint8_t)(result))
#elif defined(OUT_REAL) && OUT_REAL && IS_COMPLEX
#define OUT REAL
#define PUT(result) (result)
#elif defined(OUT_COMPLEX) && OUT_COMPLEX
#define OUT CX
#define PUT(result) (result)
#else
#define OUT X
#define PUT(result) STORE(result)
#endif

#if defined(IN0_BOOL) && IN0_BOOL
#define FIRST(k) (*(const uint8_t *)mt_cuda_input(&g, k, at[k]) != 0)
#else
#define FIRST(k) LOAD(*(const X *)mt_cuda_input(&g, k, at[k]))
#endif
#define INPUT(k) LOAD(*(const X *)mt_cuda_input(&g, k, at[k]))
#define NUMBER(k) ((const T *)g.params)[k]

#if N_IN == 0
#define ELEMENTS
#elif N_IN == 1
#define ELEMENTS FIRST(1)
#elif N_IN == 2
#define ELEMENTS FIRST(1), INPUT(2)
#elif N_IN == 3
#define ELEMENTS FIRST(1), INPUT(2), INPUT(3)
#else
#define ELEMENTS FIRST(1), INPUT(2), INPUT(3), INPUT(4)
#endif
#if N_PARAMS == 0
#define NUMBERS
#elif N_IN == 0
#define NUMBERS NUMBER(0)
#elif N_PARAMS == 1
#define NUMBERS , NUMBER(0)
#elif N_PARAMS == 2
#define NUMBERS , NUMBER(0), NUMBER(1)
#elif N_PARAMS == 3
#define NUMBERS , NUMBER(0), NUMBER(1), NUMBER(2)
#else
#define NUMBERS , NUMBER(0), NUMBER(1), NUMBER(2), NUMBER(3)
#endif

#if IS_HALF && MT_JOIN(MT_HALF_, OP)
#define FORMULA(fname) MT_LOOP_SYMBOL(MT_JOIN(mt_, fname), XS)
#else
#define FORMULA(fname) FN(fname)
#endif

static __global__ void KERNEL_NAME(const MT_GRID_CONSTANT mt_cuda_args g)
{
    const int64_t step = (int64_t)gridDim.x * blockDim.x;

    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < g.numel; i += step) {
        int64_t at[N_IN + 1];

        mt_cuda_locate(at, N_IN + 1, &g, i);
        *(OUT *)(g.data[0] + at[0]) = PUT(FORMULA(OP)(ELEMENTS NUMBERS));
    }
}

static void LOOP_NAME(char *const *data, const int64_t *stride, int64_t n, const void *params)
{
    const mt_cuda_launch *l = (const mt_cuda_launch *)params;

    (void)data, (void)stride, (void)n;
    MT_LAUNCH(KERNEL_NAME, l->blocks, MT_CUDA_BLOCK, 0, l->stream, *l->args);
}

#undef LOOP_STEM
#undef LOOP_NAME
#undef KERNEL_NAME
#undef OUT
#undef PUT
#undef FIRST
#undef INPUT
#undef NUMBER
#undef FORMULA
#undef ELEMENTS
#undef NUMBERS
