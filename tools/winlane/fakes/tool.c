/* A stand-in for any console program of Windows: cl.exe, nvcc.exe, vswhere.exe, nvidia-smi.exe, ...
 *
 * Copied under the name wanted, NAME.exe looks for files beside it:
 *   NAME.exe.out            printed as it is
 *   NAME.exe.err            written to standard error
 *   NAME.exe.rc             a number: the exit status (default 0)
 *   NAME.exe.ARG.out, ...   the same three, preferred when the first argument is ARG, with every
 *                           character that is no letter, digit, dot or minus written as _
 * and it appends its command line (UTF-8) to NAME.exe.log.
 */
#include <fcntl.h>
#include <io.h>
#include <stdio.h>
#include <wchar.h>
#include <wctype.h>
#include <windows.h>

static wchar_t program[4096], first[256];

static FILE *beside(const wchar_t *suffix, const wchar_t *mode) {
    wchar_t path[5000];
    FILE *file = 0;
    if (first[0]) {
        swprintf(path, sizeof path / sizeof *path, L"%ls.%ls.%ls", program, first, suffix);
        file = _wfopen(path, mode);
    }
    if (!file) {
        swprintf(path, sizeof path / sizeof *path, L"%ls.%ls", program, suffix);
        file = _wfopen(path, mode);
    }
    return file;
}

static void copy(const wchar_t *suffix, FILE *to) {
    int character;
    FILE *file = beside(suffix, L"rb");
    if (!file) return;
    while ((character = getc(file)) != EOF) putc(character, to);
    fclose(file);
}

static void append_command_line(void) {
    char line[32768];
    wchar_t path[5000];
    FILE *file;
    swprintf(path, sizeof path / sizeof *path, L"%ls.log", program);
    if (!(file = _wfopen(path, L"ab"))) return;
    WideCharToMultiByte(CP_UTF8, 0, GetCommandLineW(), -1, line, sizeof line, 0, 0);
    fprintf(file, "%s\n", line);
    fclose(file);
}

int wmain(int argc, wchar_t **argv) {
    int status = 0;
    size_t i;
    FILE *file;
    GetModuleFileNameW(0, program, sizeof program / sizeof *program);
    append_command_line();
    for (i = 0; argc > 1 && argv[1][i] && i + 1 < sizeof first / sizeof *first; i++)
        first[i] = iswalnum(argv[1][i]) || argv[1][i] == L'.' || argv[1][i] == L'-' ? argv[1][i] : L'_';
    _setmode(1, _O_BINARY);
    _setmode(2, _O_BINARY);
    copy(L"out", stdout);
    copy(L"err", stderr);
    if ((file = beside(L"rc", L"r"))) {
        if (fscanf(file, "%d", &status) != 1) status = 1;
        fclose(file);
    }
    return status;
}
