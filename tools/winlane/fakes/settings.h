/* The settings that the fake nvcuda.dll and nvml.dll share, read from the environment once.
 *
 *   FAKECUDA_CC              compute capability, "major.minor"         (default 8.9)
 *   FAKECUDA_COUNT           number of devices                         (default 1)
 *   FAKECUDA_DRIVER          the driver's CUDA version, e.g. 12080     (default 13000)
 *   FAKECUDA_DRIVER_VERSION  the driver's own version                  (default 581.57)
 *   FAKECUDA_NAME            device name                               (default "Fake GPU")
 *   FAKECUDA_MEMORY          memory of a device in MiB                 (default 16384)
 *   FAKECUDA_FAIL            "function=code[,function=code...]": those calls return that code,
 *                            e.g. "cuInit=100" or "cuModuleLoadData=209" or "nvmlInit_v2=18"
 *   FAKECUDA_HANG            1: initialisation never returns, as with a driver that is stuck
 *   FAKECUDA_LAST_ERROR      what each call leaves in GetLastError, as calls of a real driver may
 *   FAKECUDA_LOG             nvcuda: file that JSON lines are appended to (default: none)
 */
#ifndef FAKECUDA_SETTINGS_H
#define FAKECUDA_SETTINGS_H
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef _WIN32
#include <windows.h>
#define API __declspec(dllexport)
#define THREAD /* one for the process: a variable of a thread needs a DLL of gcc */
#define PAUSE() Sleep(1000)
#define LEAVE_ERROR(code) SetLastError((DWORD)(code))
#else
#include <unistd.h>
#define API __attribute__((visibility("default")))
#define THREAD __thread
#define PAUSE() sleep(1)
#define LEAVE_ERROR(code) ((void)(code))
#endif

static struct {
    int ready, cc_major, cc_minor, devices, cuda, hang, last_error;
    unsigned long long memory;
    char name[128], driver[64], log[1024], fail[512];
} settings = {0, 8, 9, 1, 13000, 0, 0, 16384, "Fake GPU", "581.57", "", ""};

static void read_text(const char *variable, char *into, size_t size) {
    const char *value = getenv(variable);
    if (value) snprintf(into, size, "%s", value);
}

static void configure(void) {
    const char *value;
    if (settings.ready) return;
    settings.ready = 1;
    if ((value = getenv("FAKECUDA_CC"))) sscanf(value, "%d.%d", &settings.cc_major, &settings.cc_minor);
    if ((value = getenv("FAKECUDA_COUNT"))) settings.devices = atoi(value);
    if ((value = getenv("FAKECUDA_DRIVER"))) settings.cuda = atoi(value);
    if ((value = getenv("FAKECUDA_HANG"))) settings.hang = atoi(value);
    if ((value = getenv("FAKECUDA_LAST_ERROR"))) settings.last_error = atoi(value);
    if ((value = getenv("FAKECUDA_MEMORY"))) settings.memory = strtoull(value, 0, 10);
    read_text("FAKECUDA_NAME", settings.name, sizeof settings.name);
    read_text("FAKECUDA_DRIVER_VERSION", settings.driver, sizeof settings.driver);
    read_text("FAKECUDA_LOG", settings.log, sizeof settings.log);
    read_text("FAKECUDA_FAIL", settings.fail, sizeof settings.fail);
}

/* The result that FAKECUDA_FAIL asks of `function`, or 0. */
static int injected(const char *function) {
    size_t length = strlen(function);
    const char *found;
    configure();
    if (settings.last_error) LEAVE_ERROR(settings.last_error);
    for (found = settings.fail; (found = strstr(found, function)); found += length)
        if ((found == settings.fail || found[-1] == ',') && found[length] == '=') return atoi(found + length + 1);
    return 0;
}
#define ENTER(name) do { int code_ = injected(#name); if (code_) return code_; } while (0)

static void hang_if_asked(void) {
    configure();
    while (settings.hang) PAUSE();
}
#endif
