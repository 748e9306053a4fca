//! Writes a management cluster of at least so many objects into a directory, one file each, as `--from-directory` reads it: for
//! checks of what the program shows of it.

use std::path::Path;

fn main() -> std::io::Result<()> {
    let mut typed = std::env::args().skip(1);
    let (Some(count), Some(to)) = (typed.next().and_then(|count| count.parse().ok()), typed.next()) else {
        return Err(std::io::Error::other("usage: directory COUNT DIR"));
    };
    std::fs::create_dir_all(&to)?;
    let all = pivot_worlds::crds().into_iter().chain(pivot_worlds::many(count));
    for (index, object) in all.enumerate() {
        std::fs::write(Path::new(&to).join(format!("{index:06}.yaml")), object.to_string())?;
    }
    Ok(())
}
