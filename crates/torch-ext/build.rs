//! Compiles the C++ half of this crate against the libtorch that torch-sys found.

use std::env;
use std::path::PathBuf;

fn main() {
    // torch-sys (`links = "tch"`) hands its library folder to direct dependents.
    let lib = PathBuf::from(env::var("DEP_TCH_LIBTORCH_LIB").expect("set by torch-sys"));
    let include = lib.parent().expect("libtorch has a root folder").join("include");
    println!("cargo:rerun-if-changed=cpp");
    let mut build = cc::Build::new();
    build
        .cpp(true)
        .std("c++17")
        .warnings(false)
        .opt_level(1)
        .debug(false)
        // The Gloo of the wheel, see `cpp/gloo`.
        .define("USE_C10D_GLOO", None)
        .include("cpp")
        .include(&include)
        .include(include.join("torch/csrc/api/include"));
    for file in ["operators.cpp", "autograd.cpp", "device.cpp", "store.cpp", "collectives.cpp"] {
        build.file(format!("cpp/{file}"));
    }
    build.compile("torch_ext");
    println!("cargo:rustc-link-lib=dylib=torch_cpu");
    println!("cargo:rustc-link-lib=dylib=c10");
    println!("cargo:rustc-link-arg=-Wl,-rpath,{}", lib.display());
}
