# The Python modules: _core without MPI, and _mpi_<flavour>, which the package selects at import.
# The flavour is in the module's name, so wheels for several MPIs can lie in one package.
find_package(Python 3.10 REQUIRED COMPONENTS Interpreter Development.Module)
execute_process(COMMAND ${Python_EXECUTABLE} -m nanobind --cmake_dir
                OUTPUT_STRIP_TRAILING_WHITESPACE OUTPUT_VARIABLE nanobind_ROOT COMMAND_ERROR_IS_FATAL ANY)
find_package(nanobind CONFIG REQUIRED)

set(package_libraries spanfft)
set(package_modules)
if(EXISTS ${PROJECT_SOURCE_DIR}/python/src/core_module.cpp)
    file(GLOB core_bindings CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/python/src/*_binding.cpp)
    nanobind_add_module(_core NB_STATIC NB_SUPPRESS_WARNINGS python/src/core_module.cpp ${core_bindings})
    target_link_libraries(_core PRIVATE spanfft)
    list(APPEND package_modules _core)
endif()
if(TARGET spanfft_mpi)
    list(APPEND package_libraries spanfft_mpi)
    if(EXISTS ${PROJECT_SOURCE_DIR}/python/src/mpi_module.cpp)
        # The source says NB_MODULE(SPANFFT_PY_MPI_MODULE, m).
        set(module _mpi_${SPANFFT_MPI_FLAVOUR})
        nanobind_add_module(${module} NB_STATIC NB_SUPPRESS_WARNINGS python/src/mpi_module.cpp)
        target_compile_definitions(${module} PRIVATE SPANFFT_PY_MPI_MODULE=${module})
        target_link_libraries(${module} PRIVATE spanfft_mpi)
        list(APPEND package_modules ${module})
    endif()
endif()
foreach(module IN LISTS package_modules)
    spanfft_warnings(${module})
    spanfft_sanitize(${module})
endforeach()
install(TARGETS ${package_libraries} ${package_modules} COMPONENT python
        LIBRARY DESTINATION spanfft NAMELINK_SKIP RUNTIME DESTINATION spanfft)
add_custom_target(python_package DEPENDS ${package_libraries} ${package_modules})
