# Sets SPANFFT_DUCC0_SOURCE, the unpacked ducc0 sdist: as given, or fetched from the Python registry by pip.
# The archive's digest is checked here, whoever fetched it. pip needs ducc0's build back end to read the
# archive's metadata (it compiles nothing); isolation is off because pyproject.toml and requirements/build.txt
# both hold that back end already; where it is not, isolation fetches it. A user's constraints are for the user's
# packages, not for this one, whose digest is fixed: pip would apply them to the back end, and refuse.
# Script mode, for spanfft-dev: cmake -DDUCC0_DESTINATION=dir -DPython_EXECUTABLE=python -P ducc0_source.cmake
set(SPANFFT_DUCC0_VERSION 0.42.0)
set(SPANFFT_DUCC0_SHA256 4e11c59b53a43355b053aebb2a62ee16eebeed026575f7d216cf09d437ce52ef)

function(spanfft_fetch_ducc0 destination python result)
    set(source ${destination}/ducc0-${SPANFFT_DUCC0_VERSION})
    set(archive ${source}.tar.gz)
    if(NOT EXISTS ${archive})
        message(STATUS "Fetching ducc0 ${SPANFFT_DUCC0_VERSION} with pip")
        file(MAKE_DIRECTORY ${destination})
        set(errors "")
        foreach(isolation IN ITEMS --no-build-isolation "")
            execute_process(
                COMMAND ${CMAKE_COMMAND} -E env --unset=PIP_CONSTRAINT --unset=PIP_BUILD_CONSTRAINT
                        ${python} -m pip download --quiet --no-deps ${isolation} --no-binary ducc0
                        --dest ${destination} ducc0==${SPANFFT_DUCC0_VERSION}
                RESULT_VARIABLE status
                ERROR_VARIABLE error
                OUTPUT_VARIABLE error)
            if(status EQUAL 0)
                break()
            endif()
            string(APPEND errors "\n${error}")
        endforeach()
        if(NOT status EQUAL 0)
            message(FATAL_ERROR "pip could not fetch ducc0 ${SPANFFT_DUCC0_VERSION}; give an unpacked sdist with "
                                "-DSPANFFT_DUCC0_SOURCE=dir.\n${errors}")
        endif()
    endif()
    file(SHA256 ${archive} digest)
    if(NOT digest STREQUAL SPANFFT_DUCC0_SHA256)
        file(REMOVE ${archive})
        message(FATAL_ERROR "${archive} has SHA-256 ${digest}, not ${SPANFFT_DUCC0_SHA256}: removed")
    endif()
    if(NOT EXISTS ${source}/src/ducc0/fft/fft.h)
        file(ARCHIVE_EXTRACT INPUT ${archive} DESTINATION ${destination})
    endif()
    set(${result} ${source} PARENT_SCOPE)
endfunction()

if(CMAKE_SCRIPT_MODE_FILE)
    spanfft_fetch_ducc0(${DUCC0_DESTINATION} ${Python_EXECUTABLE} source)
elseif(NOT SPANFFT_DUCC0_SOURCE)
    if(NOT Python_EXECUTABLE)
        find_package(Python REQUIRED COMPONENTS Interpreter)
    endif()
    spanfft_fetch_ducc0(${CMAKE_BINARY_DIR}/ducc0 ${Python_EXECUTABLE} SPANFFT_DUCC0_SOURCE)
endif()
if(NOT CMAKE_SCRIPT_MODE_FILE AND NOT EXISTS ${SPANFFT_DUCC0_SOURCE}/src/ducc0/fft/fft.h)
    message(FATAL_ERROR "SPANFFT_DUCC0_SOURCE=${SPANFFT_DUCC0_SOURCE} holds no src/ducc0/fft/fft.h")
endif()
