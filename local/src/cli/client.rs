//! `list` and `kill`: the few calls of the REST API that the command line needs, over plain HTTP on loopback.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use serde::Deserialize;

const LIMIT: Duration = Duration::from_secs(30);

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Listed {
    #[serde(rename = "sandboxID")]
    id: String,
    #[serde(rename = "templateID")]
    template: String,
    #[serde(default)]
    alias: Option<String>,
    started_at: String,
    end_at: String,
    state: String,
}

pub(super) fn list(api_url: &str, api_key: &str) -> Result<()> {
    let sandboxes = fetch(api_url, api_key)?;
    if sandboxes.is_empty() {
        println!("no sandboxes");
        return Ok(());
    }
    println!("{:<22} {:<12} {:<8} {:<25} ENDS", "ID", "TEMPLATE", "STATE", "STARTED");
    for sandbox in sandboxes {
        let template = sandbox.alias.unwrap_or(sandbox.template);
        println!(
            "{:<22} {:<12} {:<8} {:<25} {}",
            sandbox.id, template, sandbox.state, sandbox.started_at, sandbox.end_at
        );
    }
    Ok(())
}

/// Ends the named sandboxes, or all.
pub(super) fn kill(api_url: &str, api_key: &str, ids: Option<&[String]>) -> Result<()> {
    let ids = match ids {
        Some(ids) => ids.to_vec(),
        None => fetch(api_url, api_key)?.into_iter().map(|sandbox| sandbox.id).collect(),
    };
    let mut missing = 0;
    for id in &ids {
        let (status, body) = call(api_url, api_key, "DELETE", &format!("/sandboxes/{id}"))?;
        match status {
            204 => println!("{id} ended"),
            404 => {
                missing += 1;
                eprintln!("{id} does not exist");
            }
            _ => bail!("{}", explain(status, &body)),
        }
    }
    if missing > 0 { Err(anyhow!("{missing} of {} not found", ids.len())) } else { Ok(()) }
}

fn fetch(api_url: &str, api_key: &str) -> Result<Vec<Listed>> {
    let (status, body) = call(api_url, api_key, "GET", "/sandboxes")?;
    if status != 200 {
        bail!("{}", explain(status, &body));
    }
    serde_json::from_slice(&body).context("the answer is not a list of sandboxes")
}

fn explain(status: u16, body: &[u8]) -> String {
    let message = serde_json::from_slice::<serde_json::Value>(body)
        .ok()
        .and_then(|body| body["message"].as_str().map(str::to_owned))
        .unwrap_or_default();
    match status {
        401 => format!("the server refused the key ({message}): set E2B_API_KEY to what `serve` printed"),
        _ => format!("the server answered {status}: {message}"),
    }
}

/// One request on a connection of its own, so that the answer ends with the connection.
fn call(api_url: &str, api_key: &str, method: &str, path: &str) -> Result<(u16, Vec<u8>)> {
    let authority = api_url
        .strip_prefix("http://")
        .map(|rest| rest.trim_end_matches('/'))
        .ok_or_else(|| anyhow!("{api_url} is not an http:// address of a local server"))?;
    if api_key.chars().any(char::is_control) || path.chars().any(|letter| letter.is_control() || letter == ' ') {
        bail!("keys and ids cannot contain spaces or control characters");
    }
    let address = if authority.contains(':') { authority.to_owned() } else { format!("{authority}:80") };
    let mut stream = TcpStream::connect(&address).with_context(|| format!("no server answers at {api_url}"))?;
    stream.set_read_timeout(Some(LIMIT))?;
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nHost: {authority}\r\nX-API-Key: {api_key}\r\nConnection: close\r\n\r\n"
    )?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).context("reading the answer")?;
    parse(&answer).ok_or_else(|| anyhow!("what answers at {api_url} is not a sandbox server"))
}

fn parse(answer: &[u8]) -> Option<(u16, Vec<u8>)> {
    let end = answer.windows(4).position(|window| window == b"\r\n\r\n")?;
    let head = std::str::from_utf8(&answer[..end]).ok()?;
    let status = head.split(' ').nth(1)?.parse().ok()?;
    Some((status, answer[end + 4..].to_vec()))
}
