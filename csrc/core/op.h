/* SPDX-License-Identifier: BSD-3-Clause */
/* The op record (filled by the generator from the catalog), tagged values and the call frame. All
   callables share one signature, int fn(mt_call *). A frame lives on the C stack of the caller; its
   arguments are borrowed, its outputs are owned by the frame until they are moved out. */
#ifndef MT_CORE_OP_H
#define MT_CORE_OP_H

#include <stdbool.h>
#include <stdint.h>

#include "core/generator.h"
#include "core/iter.h"
#include "core/scalar.h"
#include "core/tensor.h"

#define MT_MAX_ARGS 20
#define MT_MAX_OUTS 6

typedef enum mt_key {
#define MT_KEY(name, text) MT_KEY_##name,
#include "core/keys.def"
#undef MT_KEY
    MT_KEY_COUNT
} mt_key;
#define MT_KEY_BIT(key) (1u << (key))
/* Travels with the keys but is none: the tensor has a tangent of forward-mode differentiation. */
#define MT_KEYS_DUAL (1u << 15)
/* So does this one, in frames only: some tensor has a dtype that mostly stores. */
#define MT_KEYS_SHELL (1u << 29)
/* In mt_thread.include while autocast is on for some device. */
#define MT_KEYS_AUTOCAST (1u << 27)
/* What a tensor's keys say about differentiation; the rest is its backend. */
#define MT_KEYS_TRACKED (MT_KEY_BIT(MT_KEY_AUTOGRAD) | MT_KEYS_DUAL)

/* --- values --- */

/* Schema type            kind                typed C parameter
   Tensor, Tensor?        TENSOR              mt_tensor *            (NULL: None)
   Tensor[], Tensor?[]    TENSORS             mt_tensors             (second: elements may be NULL)
   Scalar / Scalar?       SCALAR              mt_scalar / const mt_scalar *
   int / int?             INT                 int64_t / const int64_t *
   float / float?         FLOAT               double / const double *
   bool / bool?           BOOL                bool / const bool *
   int[], int[N], int[]?  INTS                mt_ints                (n < 0: None)
   float[]?               FLOATS              mt_floats              (n < 0: None)
   bool[N]                BOOLS               mt_ints
   str / str?             STR                 const char *           (NULL: None)
   ScalarType(?)          DTYPE               mt_dtype               (MT_DTYPE_NONE)
   Layout?                LAYOUT              int                    (-1 none, 0 strided)
   Device(?)              DEVICE              mt_device              (MT_DEVICE_NONE)
   MemoryFormat(?)        MEMORY_FORMAT       int                    (-1 none, mt_memory_format)
   Generator?             GENERATOR           mt_generator *         (NULL: the default one)
   Storage                STORAGE             mt_storage *
   Scalar[]               SCALARS             mt_scalars */
typedef enum mt_arg_kind {
    MT_ARG_NONE,
    MT_ARG_TENSOR,
    MT_ARG_TENSORS,
    MT_ARG_SCALAR,
    MT_ARG_INT,
    MT_ARG_FLOAT,
    MT_ARG_BOOL,
    MT_ARG_INTS,
    MT_ARG_FLOATS,
    MT_ARG_BOOLS,
    MT_ARG_STR,
    MT_ARG_DTYPE,
    MT_ARG_LAYOUT,
    MT_ARG_DEVICE,
    MT_ARG_MEMORY_FORMAT,
    MT_ARG_GENERATOR,
    MT_ARG_STORAGE,
    MT_ARG_SCALARS,
} mt_arg_kind;

typedef enum mt_memory_format {
    MT_FORMAT_CONTIGUOUS,
    MT_FORMAT_PRESERVE,
    MT_FORMAT_CHANNELS_LAST,
    MT_FORMAT_CHANNELS_LAST_3D
} mt_memory_format;

typedef struct mt_tensors {
    mt_tensor *const *data;
    int n;
} mt_tensors;
typedef struct mt_ints {
    const int64_t *data;
    int n; /* -1: None */
} mt_ints;
typedef struct mt_floats {
    const double *data;
    int n;
} mt_floats;
typedef struct mt_scalars {
    const mt_scalar *data;
    int n;
} mt_scalars;

/* An owned list of tensors: the result of split, unbind, ... */
typedef struct mt_tensor_list {
    mt_tensor **data;
    int n;
} mt_tensor_list;
int mt_tensor_list_new(mt_tensor_list *out, int n); /* elements NULL */
void mt_tensor_list_clear(mt_tensor_list *list);

/* RuntimeError unless the lists that an op goes through together are of one length, which is not 0. */
int mt_each_check(const char *op, const int *lengths, int n_lists);
/* Whether what went well for the first elements of the lists goes well for others: same dtypes, devices and relations of shapes. */
bool mt_each_alike(mt_tensor *const *first, mt_tensor *const *now, int n_lists);
int mt_each_writable(mt_tensors list); /* the check of in-place forms, for all before the first is written */
/* Outside inference mode an inference tensor may not be written. */
int mt_tensor_check_written(const mt_tensor *t);
extern int (*mt_inplace_check)(mt_tensor *t);                             /* autograd's; NULL before it starts */
int mt_each_shadows(mt_tensor **out, mt_tensor *const *now, int n_lists); /* stand-ins of the same kind */

/* kind MT_ARG_NONE: the argument is None (only where the spec is optional). */
typedef struct mt_value {
    uint8_t kind;
    union {
        mt_tensor *tensor;
        mt_tensors tensors;
        mt_scalar scalar;
        int64_t i; /* INT, LAYOUT, MEMORY_FORMAT, DTYPE */
        double d;
        bool b;
        mt_ints ints;
        mt_floats floats;
        mt_scalars scalars;
        const char *str;
        mt_device device;
        mt_generator *generator;
        mt_storage *storage;
    } v;
} mt_value;

enum {
    MT_ARGF_OPTIONAL = 1,      /* None is accepted */
    MT_ARGF_KEYWORD = 2,       /* keyword only */
    MT_ARGF_DEFAULT = 4,       /* has a default value */
    MT_ARGF_NUMBER = 8,        /* a Tensor parameter that takes a Python number as a wrapped number */
    MT_ARGF_ELEMENT_NONE = 16, /* Tensor?[] */
    MT_ARGF_VARARGS = 32,      /* a size list that may be spread over the positional arguments */
};

typedef struct mt_arg_spec {
    const char *name;
    uint8_t kind, flags;
    int8_t fixed;          /* N of int[N]: a bare int is accepted and repeated; 0 otherwise */
    uint8_t index;         /* position in the frame */
    const char *dflt_text; /* as written in the signature, "None", "1" */
    mt_value dflt;
} mt_arg_spec;

/* --- op record --- */

typedef struct mt_call mt_call;
typedef int mt_call_fn(mt_call *call);

enum {
    MT_OPF_VIEW = 1,       /* outputs are views of the first argument */
    MT_OPF_INPLACE_OK = 2, /* has an in-place form */
    MT_OPF_OUT_OK = 4,     /* has out= */
    MT_OPF_COMPOSITE = 8,  /* expr or impl: runs other ops, has no backend kernel */
    MT_OPF_LIST_OUT = 16,  /* returns Tensor[] */
    MT_OPF_VALUE_OUT = 32, /* returns a number, bool, ... in call->result */
    MT_OPF_RANDOM = 64,
    MT_OPF_FACTORY = 128,        /* dtype, layout, device, pin_memory, requires_grad keywords */
    MT_OPF_MUTATES_SELF = 256,   /* only exists in place (uniform_, copy_): writes argument 0 */
    MT_OPF_SCALARS_OK = 512,     /* two Python numbers give a 0-d tensor (add, sub, mul, div, ...) */
    MT_OPF_NO_IMPL = 1024,       /* catalog entry without an implementation */
    MT_OPF_DEPRECATED = 2048,    /* another signature; spec->index says where an argument goes */
    MT_OPF_CHECKED = 4096,       /* has a check of its own (dtypes, zero divisors) in front of the
                                 kernel; asks nothing of floating operands without numbers */
    MT_OPF_RETURNS_LIST = 16384, /* writes the tensors of the list that is argument 0, and returns that list */
    MT_OPF_ANY_MEMORY = 32768,   /* out= may overlap itself and the arguments: the kernel writes apart from them */
    MT_OPF_UNLISTED =
        65536, /* overridable, but PyTorch's lists leave the function out, of a private name the method too */
    MT_OPF_STAND_IN = 131072, /* among the stand-ins of torch.overrides although the name is not public */
    MT_OPF_SILENT = 262144,   /* asks nobody for overrides */
    MT_OPF_ROW_MAJOR = 8192,  /* pointwise: new results are contiguous whatever the operands are */
};

/* Pointwise: how operands, promotion and loop are chosen. */
typedef enum mt_promote {
    MT_PROMOTE_DEFAULT,    /* common dtype of all tensor operands */
    MT_PROMOTE_FLOAT,      /* the same, integers to the default dtype */
    MT_PROMOTE_COMPARE,    /* common dtype inside, bool result */
    MT_PROMOTE_BOOL,       /* the same, each operand tested for non-zero (logical ops) */
    MT_PROMOTE_REAL,       /* result has the real dtype of the common dtype (abs, angle) */
    MT_PROMOTE_NONE,       /* operands have one dtype (lerp); wrapped numbers are converted */
    MT_PROMOTE_FIRST,      /* the dtype of self; others are converted */
    MT_PROMOTE_WHERE,      /* operand 0 is a bool condition, the others have their common dtype */
    MT_PROMOTE_MASKED,     /* operand 0 is a bool condition, the result has the dtype of argument
                                0 (self), others are converted; numbers must fit */
    MT_PROMOTE_COMPLEX,    /* operands have one dtype, result its complex one (complex, polar) */
    MT_PROMOTE_FLOAT_REAL, /* integers to the default dtype, result the real dtype (angle) */
} mt_promote;

typedef enum mt_family {
    MT_FAMILY_UNARY,
    MT_FAMILY_BINARY,
    MT_FAMILY_COMPARE,
    MT_FAMILY_TERNARY,
    MT_FAMILY_SPECIAL,
    MT_FAMILY_COUNT
} mt_family;

#define MT_MAX_PARAMS 4
/* What a loop gets for an optional number that is None. */
typedef enum mt_absent {
    MT_ABSENT_ZERO,
    MT_ABSENT_LOWEST,  /* least finite value of the storage dtype */
    MT_ABSENT_HIGHEST, /* greatest finite value */
    MT_ABSENT_NEG_INF, /* minus infinity; least value of an integer dtype */
    MT_ABSENT_INF,
    MT_ABSENT_MINUS_ONE
} mt_absent;

/* What a number handed to a loop must fit: RuntimeError "value cannot be converted to type T without overflow". */
typedef enum mt_fit {
    MT_FIT_ANY,     /* nothing: it wraps or becomes infinite */
    MT_FIT_COMPUTE, /* the dtype the loop computes in: float for half and bfloat16 */
    MT_FIT_ELEMENT, /* the dtype of the elements */
} mt_fit;

/* An operand is a tensor argument, or a number (kind SCALAR), which takes part as a wrapped
   number. */
typedef struct mt_pointwise_spec {
    uint8_t family, promote;                /* mt_family, mt_promote */
    uint16_t row;                           /* row of the family's loop table */
    uint8_t n_in, in[4];                    /* argument indices of the tensor operands */
    uint8_t n_params, param[MT_MAX_PARAMS]; /* argument indices of numbers handed to the loop */
    uint32_t dtypes;                        /* bit set of the dtypes it computes; shells through their loop dtype */
    float ns_per_element;                   /* estimated cost, for the parallel grain */
    bool params_promote;                    /* the numbers take part in promotion (clamp) */
    uint8_t absent[MT_MAX_PARAMS];          /* mt_absent of optional numbers */
    uint8_t fit[MT_MAX_PARAMS];             /* mt_fit of the numbers */
} mt_pointwise_spec;

/* A reduction over a 2-D block: n_out outputs, each over n_in inputs. See cpu/README.md. */
typedef struct mt_reduce_loops {
    /* state[k] (state_size bytes each) of n_out outputs: */
    void (*init)(char *state, int64_t n_out, const void *params);
    /* adds n_in elements to each of n_out states; strides in bytes; `first` is the index along the
       reduced dimension of the first element (argmax). */
    void (*step)(char *state, const char *in, int64_t n_out, int64_t out_stride, int64_t n_in, int64_t in_stride,
                 int64_t first, const void *params);
    void (*merge)(char *state, const char *other, int64_t n_out, const void *params);
    /* writes one or two outputs per state; count is the number of reduced elements */
    void (*finish)(char *const *out, const int64_t *out_stride, const char *state, int64_t n_out, int64_t count,
                   const void *params);
    uint8_t state_size;
} mt_reduce_loops;

/* The same on another device: there `loops` is what its backend put into its table. All strides in
   bytes by dim of the input; those of an output are 0 for reduced dims. */
typedef struct mt_reduce_job {
    const mt_reduce_loops *loops;
    const double *params;
    const char *in;
    char *out[2];
    int n_outs, ndim;
    int64_t count; /* elements reduced into each output */
    const int64_t *size, *stride;
    const int64_t *out_stride[2];
    const bool *is_reduced;
} mt_reduce_job;
typedef int mt_reduce_runner(const mt_reduce_job *job, mt_device device);
extern mt_reduce_runner *mt_reduce_runners[MT_DEVICE_TYPE_COUNT]; /* the CPU's stays NULL */

typedef struct mt_reduce_spec {
    uint16_t row;                           /* row of the reduce loop table */
    uint8_t promote;                        /* mt_reduce_promote */
    int8_t dim_arg, keepdim_arg, dtype_arg; /* argument indices, -1 when absent */
    uint8_t n_params, param[MT_MAX_PARAMS];
    uint32_t dtypes;
    bool identity;  /* an empty reduction is allowed */
    bool index_out; /* the (last) output is int64 (argmax, max.dim) */
} mt_reduce_spec;

typedef enum mt_reduce_promote {
    MT_REDUCE_SAME,  /* input dtype */
    MT_REDUCE_SUM,   /* integers and bool to int64 */
    MT_REDUCE_FLOAT, /* only floating and complex inputs; RuntimeError otherwise (mean, var) */
    MT_REDUCE_BOOL,  /* bool, uint8 for uint8 input (any, all) */
    MT_REDUCE_INDEX, /* int64 (argmax, count_nonzero) */
    MT_REDUCE_REAL   /* real dtype of a complex input (norm, var) */
} mt_reduce_promote;

struct mt_node;
typedef enum mt_saved_kind {
    MT_SAVE_ARG,        /* the argument as it is (tensor, number, list, ...) */
    MT_SAVE_RESULT,     /* output k */
    MT_SAVE_SIZES,      /* sizes of tensor argument k */
    MT_SAVE_LIST_SIZES, /* for each tensor of list argument k: its ndim, then its sizes */
    MT_SAVE_DTYPE,      /* dtype of tensor argument k */
    MT_SAVE_DEVICE,
    MT_SAVE_STRIDES,
    MT_SAVE_OFFSET, /* storage offset of tensor argument k */
} mt_saved_kind;

typedef struct mt_saved_spec {
    uint8_t kind, index;
    const char *name; /* attribute name without "_saved_" */
    /* bit k: the gradient of mt_grad.input[k] uses it; saved only when one of them is needed */
    uint16_t needed_by;
} mt_saved_spec;

/* grads: one per output of the op, NULL when undefined (never all). out: one slot per edge of the
   node, NULL on entry, filled where mt_node_needs(node, edge). */
typedef int mt_backward_fn(struct mt_node *node, struct mt_tensor *const *grads, struct mt_tensor **out);

/* How the tangents of the results come from those of the arguments. */
typedef enum mt_jvp {
    MT_JVP_TRANSPOSE,   /* the transpose of the gradient formulas, which are linear in the gradient */
    MT_JVP_ELEMENTWISE, /* the gradient formulas themselves; complex numbers take the transpose */
    MT_JVP_LINEAR,      /* the op itself, of the tangents of all its inputs together */
    MT_JVP_MULTILINEAR, /* a sum over the inputs, of the op with one of them replaced by its tangent */
} mt_jvp;

typedef struct mt_grad {
    const char *node_name; /* "AddBackward0" */
    uint8_t n_saved, n_inputs;
    const mt_saved_spec *saved;
    const uint8_t *input;     /* argument indices that get a gradient, in argument order */
    mt_backward_fn *backward; /* NULL: "not implemented" node that raises */
    uint8_t constant;         /* bit set of the results whose gradient no formula reads: they are
                                     not differentiable */
    uint8_t jvp;              /* mt_jvp */
    bool sized;               /* some saved value is a list of numbers, which lies in the node's block */
    bool keeps_result;        /* some saved value is a result */
} mt_grad;

/* What autocast casts the float arguments of an op to, doubles left out: the lower dtype, float32, the widest dtype among
   them; or it refuses the op. */
typedef enum mt_autocast_policy {
    MT_AUTOCAST_NONE,
    MT_AUTOCAST_LOWER,
    MT_AUTOCAST_FLOAT32,
    MT_AUTOCAST_WIDEST,
    MT_AUTOCAST_BANNED
} mt_autocast_policy;

typedef struct mt_op {
    const char *name, *overload; /* "sum", "dim_IntList" */
    const char *schema;          /* as in the catalog */
    const char *where;           /* "reduce.yaml:12" */
    const char *doc;
    const mt_arg_spec *args;
    uint16_t id;
    uint8_t n_args, n_positional, n_outs;
    uint32_t flags;
    const char *const *out_names; /* field names of a struct sequence, or NULL */
    const char *struct_name;      /* "max" for torch.return_types.max, or NULL */
    mt_call_fn *meta;             /* shapes, dtypes, outputs; NULL for composites */
    mt_call_fn *kernel[MT_KEY_COUNT];
    const mt_pointwise_spec *pointwise;
    const mt_reduce_spec *reduce;
    const mt_grad *grad;      /* NULL: not differentiable */
    const char *inplace_name; /* "add_" or NULL */
    uint8_t autocast[2];      /* mt_autocast_policy on CPU, on CUDA */
} mt_op;

extern const mt_op mt_op_table[];
extern const int mt_op_count;
/* Kernels of the CUDA extension by op id, filled when it is loaded, each to be called as the CPU
   kernel of its op. The adapter of an op looks here when a frame runs on CUDA, and raises as
   mt_no_impl_kernel does for NULL; so the records stay constant. */
typedef void mt_any_fn(void);
extern mt_any_fn *mt_cuda_kernels[];

/* --- call frame --- */

typedef enum mt_variant { MT_VARIANT_FUNCTION, MT_VARIANT_INPLACE, MT_VARIANT_OUT } mt_variant;

struct mt_call {
    const mt_op *op;
    uint8_t variant; /* mt_variant */
    uint8_t n_args;
    bool has_result; /* a MT_OPF_VALUE_OUT op has set result */
    uint32_t keys;   /* effective keys of the running dispatch level */
    int n_outs;
    /* FUNCTION: NULL on entry, new references afterwards. INPLACE: out[0] is a reference to
       argument 0. OUT: references to the tensors given. */
    mt_tensor **out; /* out_inline, or a heap block for lists */
    mt_tensor *out_inline[MT_MAX_OUTS];
    /* set by mt_out_prepare when the kernel works on a temporary */
    mt_tensor *user_out[MT_MAX_OUTS];
    mt_value result;
    mt_value arg[MT_MAX_ARGS];
};

/* Prepares an empty frame; arguments are set by the caller. */
static inline void mt_call_init(mt_call *call, const mt_op *op, mt_variant variant)
{
    call->op = op;
    call->variant = (uint8_t)variant;
    call->n_args = op->n_args;
    call->has_result = false;
    call->keys = 0;
    call->n_outs = op->n_outs;
    call->out = call->out_inline;
    call->out_inline[0] = NULL;
    call->user_out[0] = NULL;
    for (int i = 1; i < op->n_outs; i++) {
        call->out_inline[i] = NULL;
        call->user_out[i] = NULL;
    }
}
/* Drops whatever outputs the frame still owns. */
void mt_call_clear(mt_call *call);
/* Makes room for n outputs of a list op. */
int mt_call_set_list(mt_call *call, int n);

/* --- outputs, used by meta rules --- */

/* Output k gets this dtype and shape. FUNCTION: allocates (strides NULL: contiguous). OUT: checks
   that dtype can be cast to the given tensor's, resizes it (warning when it was not empty and had
   another shape). INPLACE: the shape must be that of self (RuntimeError "output with shape [..]
   doesn't match the broadcast shape [..]"). When the given tensor has another dtype or overlaps an
   input in a way the kernel cannot bear (`allow_alias` false), call->out[k] becomes a temporary and
   user_out[k] keeps the destination. */
int mt_out_prepare(mt_call *call, int k, mt_dtype dtype, int ndim, const int64_t *size, const int64_t *stride,
                   mt_device device, bool allow_alias);
/* Parts of it, for a given tensor (INPLACE, OUT): the refusals (shape in place, device, cast);
   those and the resize. */
int mt_out_refuse(const mt_call *call, int k, mt_dtype dtype, int ndim, const int64_t *size, mt_device device);
int mt_out_check(mt_call *call, int k, mt_dtype dtype, int ndim, const int64_t *size, const int64_t *stride,
                 mt_device device);
/* Copies temporaries to their destinations. Called by the generated adapter after the kernel. */
int mt_out_finish_given(mt_call *call);
static inline int mt_out_finish(mt_call *call)
{
    bool fresh = call->variant == MT_VARIANT_FUNCTION && !(call->op->flags & MT_OPF_MUTATES_SELF);

    return MT_LIKELY(fresh) ? 0 : mt_out_finish_given(call);
}
/* Output k of a composite becomes `value` (borrowed). FUNCTION: a new reference. INPLACE and OUT:
   checks and resizes as mt_out_prepare does, then copies with mt_copy_inplace through the
   dispatcher, so that the copy records. */
int mt_out_assign(mt_call *call, int k, mt_tensor *value);
/* out= of a factory: its dtype and device arguments become those of the tensor given, or must agree
   with them. */
int mt_out_take_options(mt_call *call, int dtype_arg, int device_arg);
/* In-place form of a view op: out[0] takes the geometry of `view`, a view of it. */
int mt_out_assign_view(mt_call *call, mt_tensor *view);
/* What the parts of a composite see as argument 0: for an in-place form a copy, when somebody may differentiate, because
   what backward needs of it would be overwritten. */
int mt_out_before(mt_tensor **out, const mt_call *call);
/* A new reference: t itself when it is contiguous, else a contiguous copy; NULL for NULL. Nothing
   is recorded. */
int mt_arg_contiguous(mt_tensor **out, mt_tensor *t);

/* The composition root: loops of the ISA level chosen at start, [row][dtype]. */
typedef mt_loop_fn *const mt_loop_row[MT_DTYPE_LOOPS];
extern const mt_loop_row *mt_loop_tables[MT_DEVICE_TYPE_COUNT][MT_FAMILY_COUNT];
typedef const mt_reduce_loops *const mt_reduce_row[MT_DTYPE_LOOPS];
extern const mt_reduce_row *mt_reduce_tables[MT_DEVICE_TYPE_COUNT];

#endif
