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
set "TOOLS=@path@\VC\Tools\MSVC\%TOOLSET%"
set "SDK=@sdk@"
set "VSINSTALLDIR=@path@\"
set "VCINSTALLDIR=@path@\VC\"
set "VCToolsInstallDir=%TOOLS%\"
set "VCToolsVersion=%TOOLSET%"
set "VisualStudioVersion=@major@.0"
set "VSCMD_VER=@version@"
set "VSCMD_ARG_HOST_ARCH=x64"
set "VSCMD_ARG_TGT_ARCH=%TARGET%"
set "INCLUDE=%TOOLS%\include"
set "LIB=%TOOLS%\lib\%TARGET%"
set "PATH=%TOOLS%\bin\Hostx64\%TARGET%;@kits@\bin\%SDK%\x64;%PATH%"
if "%SDK%"=="" goto done
set "INCLUDE=%INCLUDE%;@kits@\include\%SDK%\ucrt;@kits@\include\%SDK%\um;@kits@\include\%SDK%\shared"
set "LIB=%LIB%;@kits@\lib\%SDK%\ucrt\%TARGET%;@kits@\lib\%SDK%\um\%TARGET%"
set "WindowsSdkDir=@kits@\"
set "WindowsSDKVersion=%SDK%\"
set "UniversalCRTSdkDir=@kits@\"
set "UCRTVersion=%SDK%"
:done
set TOOLS=
set SDK=
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
