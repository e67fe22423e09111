//! One request of a connection and its answer: no more of HTTP than a server of tests takes.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;

/// The first line of a request, and its body.
pub(crate) fn receive(stream: &TcpStream) -> (String, Vec<u8>) {
    let mut reader = BufReader::new(stream);
    let (mut first, mut length) = (String::new(), 0);
    reader.read_line(&mut first).expect("a request");
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).expect("a head");
        if line.trim().is_empty() {
            break;
        }
        if let Some(number) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = number.trim().parse().expect("a number");
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).expect("a body");
    (first, body)
}

/// Answers a request and closes the connection.
pub(crate) fn answer(mut stream: TcpStream, status: &str, text: &str) {
    let head =
        format!("HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: {}\r\n\r\n", text.len());
    stream.write_all(&[head.as_bytes(), text.as_bytes()].concat()).expect("the client listens");
}
