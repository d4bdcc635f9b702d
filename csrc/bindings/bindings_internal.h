/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of this folder share: object layouts, types, converters. The only folder with Python.h. */
#ifndef MT_BINDINGS_INTERNAL_H
#define MT_BINDINGS_INTERNAL_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "core/dispatch.h"
#include "core/op.h"

/* --- tensor objects; see Note [Wrapper identity] --- */

typedef struct mt_py_tensor {
    PyObject_HEAD mt_tensor *t; /* one C reference; NULL only while being destroyed */
    PyObject *dict;
    PyObject *weaklist;
} mt_py_tensor;

extern PyTypeObject mt_TensorMeta_Type;
extern PyTypeObject mt_TensorBase_Type;
extern PyTypeObject *mt_tensor_type;    /* the Python class Tensor, once registered */
extern PyTypeObject *mt_parameter_type; /* nn.Parameter, counts as plain */

static inline mt_tensor *mt_py_impl(PyObject *o)
{
    return ((mt_py_tensor *)o)->t;
}

static inline bool mt_py_is_exact(PyObject *o)
{
    return Py_TYPE(o) == mt_tensor_type;
}

static inline bool mt_py_is_tensor(PyObject *o)
{
    return Py_TYPE(o) == mt_tensor_type || PyObject_TypeCheck(o, &mt_TensorBase_Type);
}

/* The wrapper of a tensor; consumes the C reference, also on failure. NULL gives None. */
PyObject *mt_py_wrap(mt_tensor *t);
/* Lets go of a wrapper that only the tensor itself keeps and that holds nothing of its own, so that the tensor has one
   owner less. */
void mt_py_drop_idle_wrapper(mt_tensor *t);
/* A new object of a subclass around a tensor that has no wrapper yet; consumes the reference. */
PyObject *mt_py_wrap_as(mt_tensor *t, PyTypeObject *type);
int mt_py_tensor_type_init(PyObject *module);

/* --- errors --- */

PyObject *mt_py_raise(void); /* the C error of this thread as a Python exception; NULL */
int mt_py_error(void);       /* a Python exception is set: record kind PYTHON, -1 */
#define MT_PY_TRY(expr)              \
    do {                             \
        if (MT_UNLIKELY((expr) < 0)) \
            return mt_py_raise();    \
    } while (0)
int mt_py_error_init(PyObject *module);

/* --- small types --- */

typedef struct mt_py_dtype {
    PyObject_HEAD mt_dtype dtype;
} mt_py_dtype;
extern PyTypeObject mt_Dtype_Type, mt_Layout_Type, mt_MemoryFormat_Type, mt_Device_Type, mt_Size_Type,
    mt_Generator_Type, mt_Finfo_Type, mt_Iinfo_Type, mt_Storage_Type;
PyObject *mt_py_dtype_get(mt_dtype d); /* new reference */
PyObject *mt_py_layout_get(int layout);
PyObject *mt_py_memory_format_get(int format);
PyObject *mt_py_device_new(mt_device d);
PyObject *mt_py_size_new(const int64_t *size, int ndim);
PyObject *mt_py_generator_wrap(mt_generator *g); /* consumes */
PyObject *mt_py_storage_wrap(mt_storage *s);     /* consumes */
int mt_py_small_types_init(PyObject *module);
int mt_py_device_init(PyObject *module);
int mt_py_size_init(PyObject *module);
int mt_py_generator_init(PyObject *module);
int mt_py_storage_init(PyObject *module);
mt_device mt_py_default_device(void);

static inline bool mt_py_is_dtype(PyObject *o)
{
    return Py_TYPE(o) == &mt_Dtype_Type;
}

static inline mt_dtype mt_py_dtype_of(PyObject *o)
{
    return ((mt_py_dtype *)o)->dtype;
}
mt_device mt_py_device_of(PyObject *o);
int mt_py_layout_of(PyObject *o);
int mt_py_memory_format_of(PyObject *o);
mt_generator *mt_py_generator_of(PyObject *o);
mt_storage *mt_py_storage_of(PyObject *o);
bool mt_py_is_storage(PyObject *o);

/* --- conversions: 1 converted, 0 not of this kind, -1 a Python exception is set --- */

int mt_py_to_scalar(mt_scalar *out, PyObject *o); /* Python and NumPy numbers; no tensors */
/* o.__index__(), a new reference. NULL where that fails: without an exception when it raised an Exception, because then o
   is no integer for PyTorch. */
PyObject *mt_py_try_index(PyObject *o);
int mt_py_to_int(int64_t *out, PyObject *o); /* int, NumPy int, one-element integer tensor */
int mt_py_to_double(double *out, PyObject *o);
int mt_py_to_bool(bool *out, PyObject *o);
int mt_py_to_device(mt_device *out, PyObject *o); /* device, str, int */
int mt_py_to_dtype(mt_dtype *out, PyObject *o);   /* dtype, float, int, bool, complex types */
bool mt_py_is_number(PyObject *o);
PyObject *mt_py_from_scalar(mt_scalar s);
PyObject *mt_py_from_value(const mt_value *v);

/* --- groups (tensor_new.c, indexing.c, ...) --- */

extern PyMappingMethods mt_py_tensor_mapping;
extern PySequenceMethods mt_py_tensor_sequence;
extern PyNumberMethods mt_py_tensor_number;
extern PyGetSetDef mt_py_tensor_getset[];
extern PyMethodDef mt_py_tensor_extra_methods[];
extern PyMethodDef mt_py_creation_functions[], mt_py_creation_methods[]; /* tensor_new.c */
extern PyMethodDef mt_py_autograd_methods[];                             /* autograd_py.c */
extern PyGetSetDef mt_py_autograd_getset[];
void mt_py_getset_fill(void);
PyObject *mt_py_tensor_richcompare(PyObject *a, PyObject *b, int op);
PyObject *mt_py_to_list(mt_tensor *t);
/* A tensor from any Python data. dtype NONE: inferred. Gives a new C reference. */
int mt_py_tensor_from_data(mt_tensor **out, PyObject *data, mt_dtype dtype, mt_device device, bool copy);
int mt_py_tensor_new_init(PyObject *module);
/* torch.FloatTensor and its like: dtype and device (index -1) of such a type object. */
bool mt_py_tensor_type_info(PyObject *o, mt_dtype *dtype, mt_device *device);
int mt_py_autograd_init(PyObject *module);
int mt_py_numpy_init(PyObject *module);
int mt_py_testing_init(PyObject *module);
/* Handlers of subclasses are off until the state that is returned is put back. */
typedef struct mt_py_override_state {
    bool all, subclass;
} mt_py_override_state;
mt_py_override_state mt_py_override_disable_subclass(void);
void mt_py_override_restore(mt_py_override_state old);
int mt_py_torch_function_init(PyObject *module);
int mt_py_torch_function_default_init(PyObject *module);
int mt_py_module_functions_init(PyObject *module);
int mt_py_state_init(PyObject *module);
int mt_py_forward_init(PyObject *module);
int mt_py_autocast_state_init(PyObject *module);
int mt_py_inspect_init(PyObject *module);
int mt_py_program_init(PyObject *module);
/* _VariableFunctionsClass, its instance and the types of results (function_table.c). */
int mt_py_function_table_init(PyObject *module);
PyBufferProcs *mt_py_tensor_buffer(void);

/* A flag of our own beside METH_NOARGS and its like, which Python ignores: PyTorch's lists in torch.overrides leave the method out. */
#define MT_PY_UNLISTED 0x40000000
/* Another. CPython since 3.11 specialises calls of METH_FASTCALL methods, and such a call without any argument, as
   `cls.abs()` where tensors came before, reads the receiver from beyond the stack. Flags that it does not know keep the
   specialisation away. Every such method of a type must have it. */
#define MT_PY_GENERIC 0x20000000
static inline void mt_py_set_generic(PyMethodDef *def)
{
    if (def->ml_flags & METH_FASTCALL)
        def->ml_flags |= MT_PY_GENERIC;
}

#endif
