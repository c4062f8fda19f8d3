/* The few functions of NVML and of CUDA's driver that gpu_script.py calls, for tests on Linux.
 *
 * Built twice, as libnvidia-ml.so.1 and as libcuda.so.1. FAKE_NVML and FAKE_CUDA say what happens
 * at initialisation: unset, success; "crash"; "hang"; else the error number to return.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int initialise(const char *variable)
{
    const char *wish = getenv(variable);
    if (!wish)
        return 0;
    if (!strcmp(wish, "crash"))
        abort();
    if (!strcmp(wish, "hang"))
        sleep(600);
    return atoi(wish);
}

int nvmlInit_v2(void) { return initialise("FAKE_NVML"); }
int nvmlDeviceGetCount_v2(unsigned *count) { *count = 2; return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device)
{
    *device = (void *)(size_t)(index + 1);
    return 0;
}
int nvmlDeviceGetName(void *device, char *name, unsigned size)
{
    strncpy(name, device == (void *)1 ? "NVIDIA GeForce RTX 4090" : "NVIDIA GeForce GTX 1060", size);
    return 0;
}
int nvmlDeviceGetCudaComputeCapability(void *device, int *major, int *minor)
{
    *major = device == (void *)1 ? 8 : 6;
    *minor = device == (void *)1 ? 9 : 1;
    return 0;
}
int nvmlDeviceGetMemoryInfo(void *device, unsigned long long *memory)
{
    (void)device;
    memory[0] = 24ULL << 30;
    return 0;
}
int nvmlDeviceGetUUID(void *device, char *uuid, unsigned size)
{
    (void)device;
    (void)uuid;
    (void)size;
    return 3; /* NVML_ERROR_NOT_SUPPORTED */
}
int nvmlSystemGetDriverVersion(char *version, unsigned size)
{
    strncpy(version, "581.57", size);
    return 0;
}
int nvmlSystemGetCudaDriverVersion_v2(int *version) { *version = 12080; return 0; }

int cuDriverGetVersion(int *version) { *version = 13010; return 0; }
int cuInit(unsigned flags) { (void)flags; return initialise("FAKE_CUDA"); }
int cuDeviceGetCount(int *count)
{
    /* as the real one: CUDA_VISIBLE_DEVICES hides GPUs */
    *count = getenv("CUDA_VISIBLE_DEVICES") ? 0 : 1;
    return 0;
}
int cuDeviceGet(int *device, int ordinal) { *device = ordinal; return 0; }
int cuDeviceGetAttribute(int *value, int what, int device)
{
    (void)device;
    *value = what == 75 ? 12 : 0;
    return 0;
}
int cuDeviceGetName(char *name, int size, int device)
{
    const char *wish = getenv("FAKE_NAME");
    (void)device;
    strncpy(name, wish ? wish : "NVIDIA GeForce RTX 5090", (size_t)size);
    return 0;
}
int cuDeviceTotalMem_v2(size_t *size, int device) { (void)device; *size = 32ULL << 30; return 0; }
int cuDeviceGetUuid(unsigned char *uuid, int device)
{
    (void)device;
    for (int i = 0; i < 16; i++)
        uuid[i] = (unsigned char)i;
    return 0;
}
