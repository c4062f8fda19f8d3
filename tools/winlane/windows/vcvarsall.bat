@echo off
set TARGET=
set TOOLSET=
set WANTED=
if "%1"=="x64" set TARGET=x64
if "%1"=="amd64" set TARGET=x64
if "%1"=="x86_amd64" set TARGET=x64
if "%1"=="x86" set TARGET=x86
if "%1"=="amd64_x86" set TARGET=x86
if "%1"=="x64_x86" set TARGET=x86
if "%TARGET%"=="" goto usage
if "%2"=="-vcvars_ver" set WANTED=%3
if "%WANTED%"=="" set TOOLSET=@newest@
@toolsets@
if "%TOOLSET%"=="" goto unknown
@settings@
set TARGET=
set TOOLSET=
set WANTED=
echo **********************************************************************
echo ** Visual Studio @year@ Developer Command Prompt v@version@
echo [vcvarsall.bat] Environment initialized for: '%1'
exit /b 0
:unknown
echo [ERROR:vcvars.bat] Toolset directory for version '%WANTED%' was not found.
exit /b 0
:usage
echo [ERROR:vcvarsall.bat] Error in script usage. The correct usage is:
echo     vcvarsall.bat [arch]
exit /b 1
