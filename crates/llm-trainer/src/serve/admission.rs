//! Requests that are let in: to a name of this server, and with its key.

use std::net::IpAddr;

use hyper::header::{AUTHORIZATION, HOST};
use hyper::{HeaderMap, Uri};

use super::error::ApiError;

#[derive(Debug, Clone)]
pub(crate) struct Admission {
    /// Address that the server listens on. A request must be to it, to `localhost` or to a loopback address: the page of
    /// another site can reach this machine by a name of its own (DNS rebinding). `None` takes any name.
    pub(crate) host: Option<IpAddr>,
    /// Key that requests carry as `Authorization: Bearer KEY`; `None` takes requests without.
    pub(crate) api_key: Option<String>,
}

impl Admission {
    /// Checks a request's target and headers; `/health` needs no key.
    pub(super) fn check(&self, headers: &HeaderMap, target: &Uri) -> Result<(), ApiError> {
        if let Some(address) = self.host {
            let is_known = |value: &hyper::header::HeaderValue| {
                value.to_str().is_ok_and(|host| names(host, address))
            };
            // A target may be a whole address, whose name counts for more than `Host`.
            let target_is_known = target.host().is_none_or(|host| names(host, address));
            if !target_is_known || !headers.get_all(HOST).iter().all(is_known) {
                return Err(ApiError::forbidden(
                    "`Host` names another machine, expected an address of this one",
                ));
            }
        }
        let Some(key) = &self.api_key else { return Ok(()) };
        let told = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
        let told = told.and_then(|value| value.strip_prefix("Bearer ")).unwrap_or_default();
        if target.path() == "/health" || equal(told.as_bytes(), key.as_bytes()) {
            return Ok(());
        }
        Err(ApiError::unauthorized())
    }
}

/// Returns true if a `Host` names this machine: `localhost`, a loopback address, or `address`.
fn names(host: &str, address: IpAddr) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    let number = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
    name.eq_ignore_ascii_case("localhost")
        || number.parse().is_ok_and(|ip: IpAddr| ip.is_loopback() || ip == address)
}

/// Compares in a time that tells nothing of the place of the first difference.
fn equal(told: &[u8], key: &[u8]) -> bool {
    let difference = told.iter().zip(key).fold(0, |all, (told, key)| all | (told ^ key));
    told.len() == key.len() && difference == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_this_machine_are_told_from_others() {
        let address: IpAddr = "10.1.2.3".parse().unwrap();
        for host in
            ["localhost", "LocalHost:8000", "127.0.0.1:1", "127.9.9.9", "[::1]:8000", "10.1.2.3:80"]
        {
            assert!(names(host, address), "{host}");
        }
        for host in [
            "evil.example.com",
            "localhost.evil.com:80",
            "10.1.2.4",
            "127.0.0.1.evil.com",
            "",
            ":8000",
            "::2",
        ] {
            assert!(!names(host, address), "{host}");
        }
    }
}
