/* SPDX-License-Identifier: BSD-3-Clause */
/* The extension module _C_cuda, loaded at the first need of a CUDA device: links its backend to the core and offers devices,
   streams, events and the allocator to minitorch/cuda. A module of its own, so it has its own way from C errors to
   exceptions; the classes come from _C. Functions that wait give up the interpreter lock. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "core/backend.h"
#include "cuda/alloc.h"
#include "cuda/runtime.h"

static PyObject *cuda_error_class, *memory_error_class;

static PyObject *raise_error(void)
{
    mt_error_kind kind = mt_error_get();

    PyErr_SetString(kind == MT_ERR_CUDA_MEMORY ? memory_error_class
                    : kind == MT_ERR_CUDA      ? cuda_error_class
                                               : PyExc_RuntimeError,
                    mt_error_message());
    mt_error_clear();
    return NULL;
}

#define TRY(expr)                 \
    do {                          \
        if ((expr) < 0)           \
            return raise_error(); \
    } while (0)

/* --- devices --- */

static PyObject *device_count(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    return PyLong_FromLong(mt_cuda_device_count());
}

static PyObject *why_none(PyObject *module, PyObject *unused)
{
    const char *why = mt_cuda_why_none();

    (void)module, (void)unused;
    if (!why)
        Py_RETURN_NONE;
    return PyUnicode_FromString(why);
}

static PyObject *current_device(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    return PyLong_FromLong(mt_cuda_current_device());
}

static PyObject *set_device(PyObject *module, PyObject *args)
{
    int index;

    (void)module;
    if (!PyArg_ParseTuple(args, "i", &index))
        return NULL;
    TRY(mt_cuda_set_device(index));
    Py_RETURN_NONE;
}

static int device_arg(int *index, PyObject *args)
{
    if (!PyArg_ParseTuple(args, "i", index))
        return -1;
    if (mt_cuda_check_device(*index) < 0) {
        raise_error();
        return -1;
    }
    return 0;
}

static PyObject *synchronize(PyObject *module, PyObject *args)
{
    int index, rc;

    (void)module;
    if (device_arg(&index, args) < 0)
        return NULL;
    Py_BEGIN_ALLOW_THREADS rc = mt_cuda_synchronize((mt_device){MT_DEVICE_CUDA, (int8_t)index});
    Py_END_ALLOW_THREADS TRY(rc);
    Py_RETURN_NONE;
}

static PyObject *properties(PyObject *module, PyObject *args)
{
    struct cudaDeviceProp p;
    int index;

    (void)module;
    if (device_arg(&index, args) < 0)
        return NULL;
    TRY(mt_cuda_ok(cudaGetDeviceProperties(&p, index)));
    return Py_BuildValue("(siini)", p.name, p.major, p.minor, (Py_ssize_t)p.totalGlobalMem, p.multiProcessorCount);
}

static PyObject *memory_info(PyObject *module, PyObject *args)
{
    size_t left = 0, total = 0;
    mt_cuda_guard guard;
    int index, rc;

    (void)module;
    if (device_arg(&index, args) < 0)
        return NULL;
    TRY(mt_cuda_enter(&guard, (mt_device){MT_DEVICE_CUDA, (int8_t)index}));
    rc = mt_cuda_ok(cudaMemGetInfo(&left, &total));
    mt_cuda_leave(&guard);
    TRY(rc);
    return Py_BuildValue("(nn)", (Py_ssize_t)left, (Py_ssize_t)total);
}

/* --- memory --- */

static PyObject *memory_stats(PyObject *module, PyObject *args)
{
    const mt_cuda_stats *s;
    int index;

    (void)module;
    if (device_arg(&index, args) < 0)
        return NULL;
    s = mt_cuda_stats_of(index);
    return Py_BuildValue("{s:n,s:n,s:n,s:n,s:K,s:K,s:K,s:K,s:K}", "allocated_bytes.all.current",
                         (Py_ssize_t)s->allocated, "allocated_bytes.all.peak", (Py_ssize_t)s->allocated_peak,
                         "reserved_bytes.all.current", (Py_ssize_t)s->reserved, "reserved_bytes.all.peak",
                         (Py_ssize_t)s->reserved_peak, "allocation.all.allocated", (unsigned long long)s->n_allocs,
                         "allocation.all.freed", (unsigned long long)s->n_frees, "segment.all.current",
                         (unsigned long long)s->n_segments, "num_alloc_retries", (unsigned long long)s->n_retries,
                         "num_ooms", (unsigned long long)s->n_ooms);
}

static PyObject *reset_peak(PyObject *module, PyObject *args)
{
    int index;

    (void)module;
    if (device_arg(&index, args) < 0)
        return NULL;
    mt_cuda_reset_peak(index);
    Py_RETURN_NONE;
}

static PyObject *empty_cache(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    TRY(mt_cuda_empty_cache());
    Py_RETURN_NONE;
}

/* record_stream(address of the storage's bytes, device, stream id) */
static PyObject *record_stream(PyObject *module, PyObject *args)
{
    unsigned long long data;
    long long id;
    int device;

    (void)module;
    if (!PyArg_ParseTuple(args, "KiL", &data, &device, &id))
        return NULL;
    TRY(mt_cuda_check_device(device));
    TRY(mt_cuda_record_stream((void *)(uintptr_t)data, mt_cuda_stream_of(device, id)));
    Py_RETURN_NONE;
}

/* --- streams: a device and an id --- */

static int stream_arg(cudaStream_t *out, PyObject *args)
{
    long long id;
    int device;

    if (!PyArg_ParseTuple(args, "iL", &device, &id))
        return -1;
    if (mt_cuda_check_device(device) < 0) {
        raise_error();
        return -1;
    }
    *out = mt_cuda_stream_of(device, id);
    return 0;
}

static PyObject *stream_new(PyObject *module, PyObject *args)
{
    int device, priority;
    int64_t id;

    (void)module;
    if (!PyArg_ParseTuple(args, "ii", &device, &priority))
        return NULL;
    TRY(mt_cuda_check_device(device));
    TRY(mt_cuda_stream_new(&id, device, priority));
    return PyLong_FromLongLong((long long)id);
}

static PyObject *stream_handle(PyObject *module, PyObject *args)
{
    cudaStream_t s;

    (void)module;
    return stream_arg(&s, args) < 0 ? NULL : PyLong_FromVoidPtr((void *)s);
}

static PyObject *stream_current(PyObject *module, PyObject *args)
{
    int index;

    (void)module;
    if (device_arg(&index, args) < 0)
        return NULL;
    return PyLong_FromLongLong((long long)mt_cuda_current_stream_id(index));
}

static PyObject *stream_set(PyObject *module, PyObject *args)
{
    long long id;
    int device;

    (void)module;
    if (!PyArg_ParseTuple(args, "iL", &device, &id))
        return NULL;
    TRY(mt_cuda_check_device(device));
    mt_cuda_set_current_stream(device, id);
    Py_RETURN_NONE;
}

static PyObject *stream_query(PyObject *module, PyObject *args)
{
    cudaStream_t s;
    cudaError_t code;

    (void)module;
    if (stream_arg(&s, args) < 0)
        return NULL;
    code = cudaStreamQuery(s);
    if (code == cudaErrorNotReady) {
        cudaGetLastError();
        Py_RETURN_FALSE;
    }
    TRY(mt_cuda_ok(code));
    Py_RETURN_TRUE;
}

static PyObject *stream_synchronize(PyObject *module, PyObject *args)
{
    cudaStream_t s;
    cudaError_t code;

    (void)module;
    if (stream_arg(&s, args) < 0)
        return NULL;
    Py_BEGIN_ALLOW_THREADS code = cudaStreamSynchronize(s);
    Py_END_ALLOW_THREADS TRY(mt_cuda_ok(code));
    Py_RETURN_NONE;
}

/* --- events: a capsule --- */

static const char EVENT[] = "minitorch.cuda_event";

static cudaEvent_t event_of(PyObject *capsule)
{
    return (cudaEvent_t)PyCapsule_GetPointer(capsule, EVENT);
}

static void destroy_event(PyObject *capsule)
{
    cudaEventDestroy(event_of(capsule));
}

static PyObject *event_new(PyObject *module, PyObject *args)
{
    PyObject *capsule;
    cudaEvent_t event;
    int flags;

    (void)module;
    if (!PyArg_ParseTuple(args, "i", &flags))
        return NULL;
    TRY(mt_cuda_ok(cudaEventCreateWithFlags(&event, (unsigned)flags)));
    capsule = PyCapsule_New((void *)event, EVENT, destroy_event);
    if (!capsule)
        cudaEventDestroy(event);
    return capsule;
}

static PyObject *event_handle(PyObject *module, PyObject *capsule)
{
    cudaEvent_t event = event_of(capsule);

    (void)module;
    return event ? PyLong_FromVoidPtr((void *)event) : NULL;
}

/* (event, device, stream id): what is queued on the stream comes before the event; or the stream waits for it. */
static PyObject *event_on_stream(PyObject *args, bool waits)
{
    PyObject *capsule;
    cudaEvent_t event;
    mt_cuda_guard guard;
    long long id;
    int device, rc;

    if (!PyArg_ParseTuple(args, "OiL", &capsule, &device, &id) || !(event = event_of(capsule)))
        return NULL;
    TRY(mt_cuda_check_device(device));
    TRY(mt_cuda_enter(&guard, (mt_device){MT_DEVICE_CUDA, (int8_t)device}));
    rc = mt_cuda_ok(waits ? cudaStreamWaitEvent(mt_cuda_stream_of(device, id), event, 0)
                          : cudaEventRecord(event, mt_cuda_stream_of(device, id)));
    mt_cuda_leave(&guard);
    TRY(rc);
    Py_RETURN_NONE;
}

static PyObject *event_record(PyObject *module, PyObject *args)
{
    (void)module;
    return event_on_stream(args, false);
}

static PyObject *event_wait(PyObject *module, PyObject *args)
{
    (void)module;
    return event_on_stream(args, true);
}

static PyObject *event_query(PyObject *module, PyObject *capsule)
{
    cudaEvent_t event = event_of(capsule);
    cudaError_t code;

    (void)module;
    if (!event)
        return NULL;
    code = cudaEventQuery(event);
    if (code == cudaErrorNotReady) {
        cudaGetLastError();
        Py_RETURN_FALSE;
    }
    TRY(mt_cuda_ok(code));
    Py_RETURN_TRUE;
}

static PyObject *event_synchronize(PyObject *module, PyObject *capsule)
{
    cudaEvent_t event = event_of(capsule);
    cudaError_t code;

    (void)module;
    if (!event)
        return NULL;
    Py_BEGIN_ALLOW_THREADS code = cudaEventSynchronize(event);
    Py_END_ALLOW_THREADS TRY(mt_cuda_ok(code));
    Py_RETURN_NONE;
}

static PyObject *event_elapsed(PyObject *module, PyObject *args)
{
    PyObject *start, *end;
    float ms = 0;

    (void)module;
    if (!PyArg_ParseTuple(args, "OO", &start, &end) || !event_of(start) || !event_of(end))
        return NULL;
    TRY(mt_cuda_ok(cudaEventElapsedTime(&ms, event_of(start), event_of(end))));
    return PyFloat_FromDouble((double)ms);
}

#if defined(MT_CUDA_EMU)
/* _emu(order=n, late=bool, fail=(kind, n)): switches of the emulator, for tests. */
static PyObject *emulate(PyObject *module, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"order", "late", "fail", NULL};
    int order = -1, late = -1, kind = -1, n = -1;

    (void)module;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|$ip(ii)", names, &order, &late, &kind, &n))
        return NULL;
    if (order >= 0)
        mt_emu_set_order((unsigned)order);
    if (late >= 0)
        mt_emu_set_late(late);
    if (kind >= 0 && kind < MT_EMU_FAIL_KINDS)
        mt_emu_set_fail(kind, n);
    Py_RETURN_NONE;
}
#endif

static PyMethodDef functions[] = {
    {"device_count", device_count, METH_NOARGS, NULL},
    {"why_none", why_none, METH_NOARGS, NULL},
    {"current_device", current_device, METH_NOARGS, NULL},
    {"set_device", set_device, METH_VARARGS, NULL},
    {"synchronize", synchronize, METH_VARARGS, NULL},
    {"properties", properties, METH_VARARGS, NULL},
    {"memory_info", memory_info, METH_VARARGS, NULL},
    {"memory_stats", memory_stats, METH_VARARGS, NULL},
    {"reset_peak", reset_peak, METH_VARARGS, NULL},
    {"empty_cache", empty_cache, METH_NOARGS, NULL},
    {"record_stream", record_stream, METH_VARARGS, NULL},
    {"stream_new", stream_new, METH_VARARGS, NULL},
    {"stream_handle", stream_handle, METH_VARARGS, NULL},
    {"stream_current", stream_current, METH_VARARGS, NULL},
    {"stream_set", stream_set, METH_VARARGS, NULL},
    {"stream_query", stream_query, METH_VARARGS, NULL},
    {"stream_synchronize", stream_synchronize, METH_VARARGS, NULL},
    {"event_new", event_new, METH_VARARGS, NULL},
    {"event_handle", event_handle, METH_O, NULL},
    {"event_record", event_record, METH_VARARGS, NULL},
    {"event_wait", event_wait, METH_VARARGS, NULL},
    {"event_query", event_query, METH_O, NULL},
    {"event_synchronize", event_synchronize, METH_O, NULL},
    {"event_elapsed", event_elapsed, METH_VARARGS, NULL},
#if defined(MT_CUDA_EMU)
    {"_emu", (PyCFunction)(void (*)(void))emulate, METH_VARARGS | METH_KEYWORDS, NULL},
#endif
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "minitorch._C_cuda", "CUDA backend of minitorch.", -1, functions, NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__C_cuda(void);

MT_EXPORT PyMODINIT_FUNC PyInit__C_cuda(void)
{
    const mt_backend_api *api = PyCapsule_Import("minitorch._C._backend", 0);
    PyObject *core, *module;

    if (!api)
        return NULL;
    if (mt_cuda_attach(api) < 0) {
        PyErr_SetString(PyExc_ImportError, "minitorch._C_cuda belongs to another build of minitorch._C");
        return NULL;
    }
    core = PyImport_ImportModule("minitorch._C");
    if (!core)
        return NULL;
    cuda_error_class = PyObject_GetAttrString(core, "AcceleratorError");
    memory_error_class = PyObject_GetAttrString(core, "OutOfMemoryError");
    Py_DECREF(core);
    if (!cuda_error_class || !memory_error_class)
        return NULL;
    module = PyModule_Create(&definition);
#if defined(MT_CUDA_EMU)
    if (module && PyModule_AddStringConstant(module, "kind", "emu") < 0)
        Py_CLEAR(module);
#else
    if (module && PyModule_AddStringConstant(module, "kind", "cuda") < 0)
        Py_CLEAR(module);
#endif
    return module;
}
