/* A stand-in for the venv launcher (Scripts\python.exe), which the embedded distribution does not carry.
 *
 * Does what CPython's own does: finds `home` in ..\pyvenv.cfg (or beside itself), names itself in
 * __PYVENV_LAUNCHER__, and runs home's program of its own name with the same command line.
 */
#include <stdio.h>
#include <string.h>
#include <wchar.h>
#include <windows.h>

static int read_home(const wchar_t *cfg, wchar_t *home, int size) {
    char line[4096];
    FILE *file = _wfopen(cfg, L"r");
    int found = 0;
    if (!file) return 0;
    while (!found && fgets(line, sizeof line, file)) {
        char *value = strchr(line, '=');
        if (strncmp(line, "home", 4) || !value) continue;
        value += 1 + strspn(value + 1, " ");
        value[strcspn(value, "\r\n")] = 0;
        found = MultiByteToWideChar(CP_UTF8, 0, value, -1, home, size) > 0;
    }
    fclose(file);
    return found;
}

int wmain(void) {
    wchar_t self[4096], folder[4096], cfg[4200], home[4096], program[8300], *name;
    STARTUPINFOW startup = {0};
    PROCESS_INFORMATION process;
    DWORD status;

    GetModuleFileNameW(0, self, 4096);
    wcscpy(folder, self);
    name = wcsrchr(folder, L'\\');
    *name++ = 0;
    swprintf(cfg, 4200, L"%ls\\..\\pyvenv.cfg", folder);
    if (!read_home(cfg, home, 4096)) {
        swprintf(cfg, 4200, L"%ls\\pyvenv.cfg", folder);
        if (!read_home(cfg, home, 4096)) {
            fprintf(stderr, "No pyvenv.cfg file\n");
            return 106;
        }
    }
    swprintf(program, 8300, L"%ls\\%ls", home, name);
    SetEnvironmentVariableW(L"__PYVENV_LAUNCHER__", self);
    startup.cb = sizeof startup;
    startup.dwFlags = STARTF_USESTDHANDLES;
    startup.hStdInput = GetStdHandle(STD_INPUT_HANDLE);
    startup.hStdOutput = GetStdHandle(STD_OUTPUT_HANDLE);
    startup.hStdError = GetStdHandle(STD_ERROR_HANDLE);
    if (!CreateProcessW(program, GetCommandLineW(), 0, 0, TRUE, 0, 0, 0, &startup, &process)) {
        fprintf(stderr, "Unable to create process using '%ls'\n", program);
        return 101;
    }
    WaitForSingleObject(process.hProcess, INFINITE);
    GetExitCodeProcess(process.hProcess, &status);
    return (int)status;
}
