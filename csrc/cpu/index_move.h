/* SPDX-License-Identifier: BSD-3-Clause */
/* Elements whose address an index tensor names: jobs over a broadcast geometry, and the loops they run. A job has three
   operands: the target, which the index addresses, the index, and the other tensor, which walks along (the result of a
   read, the values of a write). */
#ifndef MT_CPU_INDEX_MOVE_H
#define MT_CPU_INDEX_MOVE_H

#include "core/iter.h"
#include "core/op.h"

/* How to word a bad index. */
typedef enum mt_index_words {
    MT_INDEX_OF_DIM,    /* IndexError "index 6 is out of bounds for dimension 0 with size 6" */
    MT_INDEX_OF_GATHER, /* the same as a RuntimeError */
    MT_INDEX_OF_COPY,   /* the same as an IndexError of index_copy_() */
    MT_INDEX_IN_SELF,   /* IndexError "index out of range in self" */
    MT_INDEX_OF_DATA,   /* RuntimeError "INDICES element is out of DATA bounds, id=6 axis_dim=5" */
    MT_INDEX_OF_TAKE    /* IndexError "out of range: tried to access index 6 on a tensor of 6 elements." */
} mt_index_words;

/* Set by a loop that met an index out of range; it stopped there. */
typedef struct mt_index_fault {
    bool found;
    int64_t index;
} mt_index_fault;

/* What loops get as params. The address is target + (v + (v < 0 ? wrap : 0)) * step. */
typedef struct mt_index_params {
    int64_t limit, wrap, step;
    mt_index_fault *fault;         /* NULL: the indices were checked before */
    MT_ALIGNED(16) char alpha[16]; /* of the compute type, for sums */
} mt_index_params;

typedef struct mt_index_job {
    int ndim;
    int64_t size[MT_MAX_DIM];
    int64_t target_stride[MT_MAX_DIM], index_stride[MT_MAX_DIM], other_stride[MT_MAX_DIM]; /* bytes */
    char *target, *other;
    const char *index;           /* int64 */
    bool is_indexed[MT_MAX_DIM]; /* dims along which different places may be one address of the target */
    int itemsize;
    mt_index_params params;
} mt_index_job;

/* Range check of all indices: [-wrap, limit). False with the first bad one in *bad. */
bool mt_index_in_range(int64_t *bad, const mt_tensor *index, int64_t limit, int64_t wrap);
int mt_index_error(mt_index_words words, int64_t index, int64_t dim, int64_t size);

/* Reads every element of the job from the target into the other. When params.fault is set, indices are checked on the
   way and the rest of the result is undefined after a fault. */
void mt_index_read(const mt_index_job *job);
/* Writes; the last of equal addresses wins. `loop` NULL: plain stores. */
void mt_index_write(const mt_index_job *job, mt_loop_fn *loop, double ns_per_element);

/* dst = op(dst, value): loops by dtype. NULL where the op is not defined for the dtype. */
typedef enum mt_index_op { MT_INDEX_ADD, MT_INDEX_MUL, MT_INDEX_MAX, MT_INDEX_MIN } mt_index_op;
mt_loop_fn *mt_index_loop(mt_index_op op, mt_dtype dtype);
/* alpha of the sums, checked against the dtype. */
int mt_index_set_alpha(mt_index_params *params, mt_dtype dtype, mt_scalar alpha);

#endif
