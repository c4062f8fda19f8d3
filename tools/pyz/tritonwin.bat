@echo off
rem tritonwin: a batch file and, behind its last line, a zip that Python runs.
rem Started without arguments it opens a page in the browser, which changes nothing unasked.
rem Only forward jumps, and no backward ones: cmd would look for the label in the zip.
setlocal EnableExtensions DisableDelayedExpansion
set "file=%~f0"
set "here=%~dp0"
if not "%~z0"=="@SIZE@" goto damaged
set "python="
set "pick=1"
call :search
if %count%==0 goto missing
if %count%==1 goto start
set "pick="
set "answer="
echo Several Pythons lie here:
set Python[
setlocal EnableDelayedExpansion
set /p "answer=Which one has torch? Its number: "
for /l %%N in (1,1,%count%) do if "!answer!"=="%%N" set "pick=%%N"
endlocal & set "pick=%pick%"
set "python="
call :search
if defined python goto start
>&2 echo error: none was chosen
>&2 echo help:  Start it again and type a number of the list.
goto failed

:start
set "TRITONWIN_BAT=%file%"
if "%~1"=="" goto page
"%python%" "%file%" %*
exit /b %errorlevel%

:page
"%python%" "%file%" ui
set "status=%errorlevel%"
if %status%==0 exit /b 0
goto wait

:damaged
>&2 echo error: this file is not whole
>&2 echo help:  Fetch it again.
goto failed

:missing
>&2 echo error: no Python lies in or beside the folder of this file
>&2 echo help:  Move it into the folder of ComfyUI, FramePack or another application: the one that
>&2 echo        holds python_embeded, system\python, venv, .venv, env or installer_files\env.

:failed
set "status=2"
if not "%~1"=="" exit /b %status%

:wait
rem A window that a double click opened would close at once.
pause
exit /b %status%

:search
rem In this folder, else in the one above, else in those below. In a folder of ComfyUI's
rem custom_nodes: in ComfyUI, else in the folder around it.
set "count=0"
set "base=%here%"
call :look
if %count%==0 for %%B in ("%here%..") do set "base=%%~fB\" & call :look
if not %count%==0 exit /b
set "above="
for %%B in ("%here%..") do set "above=%%~nxB"
if /i "%above%"=="custom_nodes" call :around
if not %count%==0 exit /b
pushd "%here%"
for /d %%D in (*) do set "base=%here%%%D\" & call :look
popd
exit /b

:around
for %%B in ("%here%..\..") do set "base=%%~fB\" & call :look
if %count%==0 for %%B in ("%here%..\..\..") do set "base=%%~fB\" & call :look
exit /b

:look
for %%P in (
 python.exe Scripts\python.exe python_embeded\python.exe python_embedded\python.exe
 python_embed\python.exe system\python\python.exe python\python.exe
 .venv\Scripts\python.exe venv\Scripts\python.exe env\Scripts\python.exe
 .venv\python.exe venv\python.exe env\python.exe installer_files\env\python.exe
) do if exist "%base%%%P" call :found %%P
exit /b

:found
set /a count+=1
set "Python[%count%]=%base%%1"
if "%count%"=="%pick%" set "python=%base%%1"
exit /b
