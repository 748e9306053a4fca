//! Pictures of a terminal for `docs/pictures`: what plan, move and status print, between real API servers.
//!
//! `cargo xtask pictures` runs it. The pictures are drawn from the program's real output in a terminal of that width.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use pivot_lab::{Crds, Pair};
use pivot_scenarios::host::binary;
use pivot_scenarios::shape::{self, WITHOUT_PLUGIN};
use tempfile::TempDir;

const WIDTHS: [usize; 2] = [80, 120];
/// 1,033 objects.
const MACHINES: usize = 113;
/// In pixels, for a monospaced font of 13.
const CELL: (f64, usize) = (7.83, 18);
const MARGIN: usize = 16;

#[tokio::main]
async fn main() -> Result<()> {
    let out = PathBuf::from(std::env::args().nth(1).context("name the directory to draw into")?);
    std::fs::create_dir_all(&out)?;
    for width in WIDTHS {
        draw_all(&out, width).await?;
    }
    Ok(())
}

/// Draws each command in a terminal of one width, between two new servers.
async fn draw_all(out: &Path, width: usize) -> Result<()> {
    let pair = Pair::start_with(&Crds::parse(&shape::crds()?)?).await?;
    pair.source.apply_values(shape::cluster("shop", MACHINES)).await?;
    pair.source.apply_values(shape::cluster("edge", 3)).await?;
    let dir = tempfile::tempdir()?;
    std::fs::copy(pair.source.kubeconfig(), dir.path().join("boot.kubeconfig"))?;
    std::fs::copy(pair.target.kubeconfig(), dir.path().join("prod.kubeconfig"))?;

    draw(out, "plan", width, &run(&dir, width, &["plan", "-n", "shop"], &WITHOUT_PLUGIN, 0)?)?;
    // In servers without controllers nothing takes over.
    let accepted = [&WITHOUT_PLUGIN[..], &["--accept", "takeover-unchecked"]].concat();
    draw(out, "move", width, &run(&dir, width, &["move", "-n", "shop"], &accepted, 0)?)?;
    let stopped = [&WITHOUT_PLUGIN[..], &["--takeover-timeout", "2s"]].concat();
    draw(out, "stop", width, &run(&dir, width, &["move", "-n", "edge"], &stopped, 5)?)?;
    draw(out, "status", width, &run(&dir, width, &["status"], &[], 0)?)
}

/// Returns the lines that a user sees after typing this.
fn run(dir: &TempDir, width: usize, words: &[&str], flags: &[&str], code: i32) -> Result<Vec<String>> {
    let ends = ["--kubeconfig", "boot.kubeconfig", "--to-kubeconfig", "prod.kubeconfig"];
    let line = [words, &ends, flags].concat();
    // Progress and result in the order of a terminal.
    let mut command = Command::new("sh");
    command.args(["-c", r#"exec "$@" 2>&1"#, "sh"]).arg(binary()?).args(&line);
    // A user that doesn't exist.
    command.current_dir(dir.path()).env("USER", "jane").env("COLUMNS", width.to_string());
    let output = command.output()?;
    let shown = String::from_utf8(output.stdout)?;
    ensure!(output.status.code() == Some(code), "{line:?} ended with {:?}:\n{shown}", output.status);
    let typed = format!("$ pivot-host {}", line.join(" "));
    Ok(std::iter::once(typed.as_str()).chain(shown.lines()).map(str::to_owned).collect())
}

fn draw(out: &Path, name: &str, width: usize, lines: &[String]) -> Result<()> {
    let path = out.join(format!("{name}-{width}.svg"));
    std::fs::write(&path, svg(&wrapped(lines, width), width)).with_context(|| path.display().to_string())
}

/// Breaks lines that stay too long, such as commands, where a terminal does.
fn wrapped(lines: &[String], width: usize) -> Vec<String> {
    let cells = |line: &String| {
        let all: Vec<char> = line.chars().collect();
        let rows = all.chunks(width).map(|row| row.iter().collect()).collect::<Vec<String>>();
        if rows.is_empty() { vec![String::new()] } else { rows }
    };
    lines.iter().flat_map(cells).collect()
}

fn svg(rows: &[String], width: usize) -> String {
    let (cell, height) = CELL;
    let wide = (width as f64 * cell).ceil() as usize + 2 * MARGIN;
    let high = rows.len() * height + 2 * MARGIN;
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{wide}\" height=\"{high}\" viewBox=\"0 0 {wide} {high}\">\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"#1c1f26\"/>\n\
         <g font-family=\"ui-monospace, SFMono-Regular, Menlo, Consolas, monospace\" font-size=\"13\" fill=\"#d7dae0\">\n"
    );
    for (index, row) in rows.iter().enumerate() {
        let row = row.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        let at = MARGIN + (index + 1) * height - 5;
        _ = writeln!(text, "<text x=\"{MARGIN}\" y=\"{at}\" xml:space=\"preserve\">{row}</text>");
    }
    text + "</g>\n</svg>\n"
}
