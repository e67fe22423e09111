// Stands for a header of gloo that the libtorch wheel leaves out. Both are held by pointer only.
#pragma once
namespace gloo::transport {
struct Device;
struct UnboundBuffer {
  ~UnboundBuffer();
};
}  // namespace gloo::transport
