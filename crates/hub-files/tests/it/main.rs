//! Names of the hub from a cache made by hand, and from a server in the hub's place.

mod cached;
mod downloaded;
mod server;
