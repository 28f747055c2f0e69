/* Devices between Python and an extension. pybind11's code for them is in the extension itself: what it returns goes
 * through THPDevice_New, but an argument is read from Python's object. So the functions that the extension gives to
 * Python are called through here, with devices of musa replaced by CUDA's. Python's functions are found at run time. */
#include "torch/torch.h"

#include "core/log.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>

struct object { /* PyObject, without free threading */
    intptr_t references;
    void *type;
};
struct device { /* c10::Device */
    int8_t type, index;
};
struct device_object { /* THPDevice */
    struct object head;
    struct device device;
};
struct method { /* PyMethodDef */
    const char *name;
    void *(*call)(void *self, void *arguments, void *keywords);
    int flags;
    const char *doc;
};
enum { VARARGS_AND_KEYWORDS = 3, BASICSIZE_AT = 32, CALLS = 32 };

static struct {
    void *(*new_method)(struct method *, void *self, void *module, void *class);
    void *(*new_function)(struct method *, void *self, void *module);
    intptr_t (*tuple_size)(void *);
    void *(*tuple_item)(void *, intptr_t);
    void *(*new_tuple)(intptr_t);
    int (*set_item)(void *, intptr_t, void *);
    void *(*copy_dict)(void *);
    int (*next)(void *, intptr_t *, void **key, void **value);
    int (*put)(void *, void *, void *);
    void (*take)(void *);
    void (*drop)(void *);
    void *(*new_device)(const struct device *);
    void *device_type;
    int8_t cuda, musa;
    bool ready; /* all of these are there */
} py;

/* Finds the functions of Python and of torch_musa that devices are exchanged by. They are looked up, not linked: the
 * process may have any Python, or none. The size that this Python gives an object, compared with ours, tells one
 * whose objects are laid out another way. */
static void find_python(void)
{
    static const struct {
        void *to;
        const char *name;
    } functions[] = {{&py.new_method, "PyCMethod_New"},
                     {&py.new_function, "PyCFunction_NewEx"},
                     {&py.tuple_size, "PyTuple_Size"},
                     {&py.tuple_item, "PyTuple_GetItem"},
                     {&py.new_tuple, "PyTuple_New"},
                     {&py.set_item, "PyTuple_SetItem"},
                     {&py.copy_dict, "PyDict_Copy"},
                     {&py.next, "PyDict_Next"},
                     {&py.put, "PyDict_SetItem"},
                     {&py.take, "Py_IncRef"},
                     {&py.drop, "Py_DecRef"}};
    bool all = true;
    for (unsigned i = 0; i < sizeof functions / sizeof *functions; i++) {
        void *address = dlsym(RTLD_DEFAULT, functions[i].name);
        memcpy(functions[i].to, &address, sizeof address);
        all = all && address;
    }
    *(void **)&py.new_device = cumu_torch_find("_Z13THPDevice_NewRKN3c106DeviceE");
    py.device_type = cumu_torch_find("THPDeviceType");
    int cuda = cumu_torch_number("CUDA", true, false), musa = cumu_torch_number("CUDA", true, true);
    py.cuda = (int8_t)cuda;
    py.musa = (int8_t)musa;
    const char *base = dlsym(RTLD_DEFAULT, "PyBaseObject_Type");
    intptr_t size = 0;
    if (base)
        memcpy(&size, base + BASICSIZE_AT, sizeof size);
    py.ready = all && py.new_device && py.device_type && cuda >= 0 && size == (intptr_t)sizeof(struct object);
    if (!py.ready)
        cumu_log(NULL, CUMU_GAP, "torch", NULL,
                 "devices that an extension exchanges with this Python stay as they "
                 "are");
}

static bool ready(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, find_python);
    return py.ready;
}

/* A new CUDA device for one of musa; NULL for what is none. */
static void *turned(void *object)
{
    const struct device_object *d = object;
    if (d->head.type != py.device_type || d->device.type != py.musa)
        return NULL;
    return py.new_device(&(struct device){py.cuda, d->device.index});
}

/* `tuple` with its devices turned, or itself; a reference of its own. NULL: Python has no memory, and knows it. */
static void *turned_tuple(void *tuple)
{
    intptr_t n = py.tuple_size(tuple);
    void *copy = NULL;
    for (intptr_t i = 0; i < n; i++) {
        void *new = turned(py.tuple_item(tuple, i));
        if (!new)
            continue;
        if (!copy) {
            copy = py.new_tuple(n);
            if (!copy) {
                py.drop(new);
                return NULL;
            }
            for (intptr_t k = 0; k < n; k++) {
                void *item = py.tuple_item(tuple, k);
                py.take(item);
                (void)py.set_item(copy, k, item); /* takes the reference */
            }
        }
        (void)py.set_item(copy, i, new);
    }
    if (!copy)
        py.take(copy = tuple);
    return copy;
}

static void *turned_dict(void *dict)
{
    void *copy = NULL, *key, *value;
    for (intptr_t at = 0; py.next(dict, &at, &key, &value);) {
        void *new = turned(value);
        if (!new)
            continue;
        if (!copy)
            copy = py.copy_dict(dict);
        if (!copy || py.put(copy, key, new) != 0) {
            py.drop(new);
            if (copy)
                py.drop(copy);
            return NULL;
        }
        py.drop(new);
    }
    if (!copy)
        py.take(copy = dict);
    return copy;
}

static void *call(void *(*original)(void *, void *, void *), void *self, void *arguments, void *keywords)
{
    void *result = NULL, *a = turned_tuple(arguments), *k = a && keywords ? turned_dict(keywords) : NULL;
    if (a && (k || !keywords))
        result = original(self, a, k);
    if (k)
        py.drop(k);
    if (a)
        py.drop(a);
    return result;
}

/* Each extension has one function that calls all of its own, and Python hands over nothing that would tell them apart:
 * so each is called by a function of its own here. */
static void *(*originals[CALLS])(void *, void *, void *);
#define CALL(n) \
    static void *call##n(void *s, void *a, void *k) { return call(originals[n], s, a, k); }
#define ALL(x) \
    x(0) x(1) x(2) x(3) x(4) x(5) x(6) x(7) x(8) x(9) x(10) x(11) x(12) x(13) x(14) x(15) x(16) x(17) x(18) x(19) \
        x(20) x(21) x(22) x(23) x(24) x(25) x(26) x(27) x(28) x(29) x(30) x(31)
ALL(CALL)
#define ENTRY(n) call##n,
static void *(*const calls[CALLS])(void *, void *, void *) = {ALL(ENTRY)};

/* The method itself is changed: it belongs to the extension, which keeps it for as long as Python has the function. */
static void take_over(struct method *m)
{
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    if (!m || m->flags != VARARGS_AND_KEYWORDS || !m->call)
        return;
    (void)pthread_mutex_lock(&mutex);
    for (unsigned i = 0; i < CALLS; i++) {
        if (m->call == calls[i])
            break;
        if (originals[i] && originals[i] != m->call)
            continue;
        originals[i] = m->call;
        m->call = calls[i];
        break;
    }
    (void)pthread_mutex_unlock(&mutex);
}

CUMU_TORCH_API void *cumu_torch_new_method(struct method *m, void *self, void *module, void *class)
{
    if (ready())
        take_over(m);
    return py.new_method(m, self, module, class);
}

CUMU_TORCH_API void *cumu_torch_new_function(struct method *m, void *self, void *module)
{
    if (ready())
        take_over(m);
    return py.new_function(m, self, module);
}

CUMU_TORCH_API void *cumu_torch_new_device(const struct device *d)
{
    if (ready() && d->type == py.cuda)
        return py.new_device(&(struct device){py.musa, d->index});
    return py.new_device(d);
}
