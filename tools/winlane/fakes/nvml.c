/* A stand-in nvml.dll: driver version, devices, their names, memory and compute capability.
 *
 * What it reads from the environment: settings.h. Every function but the error texts answers
 * "uninitialized" until nvmlInit_v2 was called, as the real library does.
 */
#include "settings.h"

typedef int R;                      /* nvmlReturn_t */
enum { OK = 0, UNINITIALIZED = 1, INVALID_ARGUMENT = 2, INSUFFICIENT_SIZE = 7 };
struct memory { unsigned long long total, free, used; };

static int users;

#define NEED_INIT() do { if (!users) return UNINITIALIZED; } while (0)

static R put(char *into, unsigned size, const char *text) {
    if (strlen(text) >= size) return INSUFFICIENT_SIZE;
    strcpy(into, text);
    return OK;
}

/* A handle is the index plus one, so that a null pointer is not a device. */
static int index_of(void *device) {
    size_t index = (size_t)device - 1;
    return device && index < (size_t)settings.devices ? (int)index : -1;
}

API R nvmlInit_v2(void) {
    ENTER(nvmlInit_v2);
    hang_if_asked();
    users++;
    return OK;
}
API R nvmlInit(void) { return nvmlInit_v2(); }
API R nvmlInitWithFlags(unsigned flags) { (void)flags; return nvmlInit_v2(); }
API R nvmlShutdown(void) {
    NEED_INIT();
    users--;
    return OK;
}

API R nvmlSystemGetDriverVersion(char *version, unsigned size) {
    ENTER(nvmlSystemGetDriverVersion);
    NEED_INIT();
    return put(version, size, settings.driver);
}
API R nvmlSystemGetCudaDriverVersion_v2(int *version) {
    ENTER(nvmlSystemGetCudaDriverVersion_v2);
    NEED_INIT();
    *version = settings.cuda;
    return OK;
}
API R nvmlSystemGetCudaDriverVersion(int *version) { return nvmlSystemGetCudaDriverVersion_v2(version); }

API R nvmlDeviceGetCount_v2(unsigned *count) {
    ENTER(nvmlDeviceGetCount_v2);
    NEED_INIT();
    *count = (unsigned)settings.devices;
    return OK;
}
API R nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device) {
    ENTER(nvmlDeviceGetHandleByIndex_v2);
    NEED_INIT();
    if (index >= (unsigned)settings.devices) return INVALID_ARGUMENT;
    *device = (void *)((size_t)index + 1);
    return OK;
}
API R nvmlDeviceGetName(void *device, char *name, unsigned size) {
    ENTER(nvmlDeviceGetName);
    NEED_INIT();
    return index_of(device) < 0 ? INVALID_ARGUMENT : put(name, size, settings.name);
}
API R nvmlDeviceGetUUID(void *device, char *uuid, unsigned size) {
    char text[64];
    int index = index_of(device);
    ENTER(nvmlDeviceGetUUID);
    NEED_INIT();
    if (index < 0) return INVALID_ARGUMENT;
    /* the bytes that nvcuda.c's cuDeviceGetUuid gives */
    memset(text, 0, sizeof text);
    snprintf(text, sizeof text, "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x",
             index + 1, index + 1, index + 1, index + 1, index + 1, index + 1, index + 1, index + 1,
             index + 1, index + 1, index + 1, index + 1, index + 1, index + 1, index + 1, index + 1);
    return put(uuid, size, text);
}
API R nvmlDeviceGetCudaComputeCapability(void *device, int *major, int *minor) {
    ENTER(nvmlDeviceGetCudaComputeCapability);
    NEED_INIT();
    if (index_of(device) < 0) return INVALID_ARGUMENT;
    *major = settings.cc_major;
    *minor = settings.cc_minor;
    return OK;
}
API R nvmlDeviceGetMemoryInfo(void *device, struct memory *memory) {
    ENTER(nvmlDeviceGetMemoryInfo);
    NEED_INIT();
    if (index_of(device) < 0) return INVALID_ARGUMENT;
    memory->total = settings.memory << 20;
    memory->used = memory->total / 16;
    memory->free = memory->total - memory->used;
    return OK;
}

API const char *nvmlErrorString(int code) {
    switch (code) {
    case 0: return "Success";
    case 1: return "Uninitialized";
    case 2: return "Invalid Argument";
    case 3: return "Not Supported";
    case 4: return "Insufficient Permissions";
    case 6: return "Not Found";
    case 7: return "Insufficient Size";
    case 9: return "Driver Not Loaded";
    case 10: return "Timeout";
    case 12: return "NVML Shared Library Not Found";
    case 15: return "GPU is lost";
    case 18: return "Driver/library version mismatch";
    default: return "Unknown Error";
    }
}
