// Stands in for the header of that name, which the runtime's wheel does not have: the words of its structs' declarations.
#pragma once
#define __host__
#define __device__
#define __builtin_align__(bytes) __attribute__((aligned(bytes)))
#define __device_builtin__
#define __device_builtin_texture_type__
#define __device_builtin_surface_type__
#define __cudart_builtin__
#define CUDARTAPI
#define CUDARTAPI_CDECL
#define __align__(bytes) __attribute__((aligned(bytes)))
