//! Scenes: files with objects of both sides, calls of hooks, and the answers that a vendor expects.
//!
//! `plugin check`, `plugin test` and `plugin run` read the same format: docs/schemas/plugin-scene.json.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use pivot_core::Object;
use pivot_core::plugins::hooks::{Hook, Point};
use pivot_engine::Exit;
use pivot_places::{documents_of_content, read_file_or_stdin};
use pivot_runtime::{Answer, ProbeAnswers, RunKind, Scene, ServiceError};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::sample_objects::build_object;
use super::scene_fields::SceneFields;
use crate::exit::Result;
use crate::private_file::PrivateFile;

pub(super) const API_VERSION: &str = "pivot-host.io/v1alpha1";
const KIND: &str = "PluginScene";
/// Ends of the names of scene files.
const EXTENSIONS: [&str; 3] = ["json", "yaml", "yml"];

/// A scene.
pub(super) struct SceneFile {
    pub(super) path: PathBuf,
    /// Name for reports; by default the name of the file.
    pub(super) name: String,
    pub(super) run: RunKind,
    /// Configuration of the plugin.
    pub(super) config: Option<Value>,
    /// Fields that replace the grants of the plugin's section.
    pub(super) grants: Map<String, Value>,
    pub(super) scene: Arc<Scene>,
    pub(super) calls: Vec<SceneCall>,
    /// True for a file without `apiVersion` and `kind`: just objects for `plugin check`.
    pub(super) has_no_version: bool,
    text: String,
}

/// A call of a hook, and the expected answer.
#[derive(Serialize)]
pub(super) struct SceneCall {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) name: Option<String>,
    pub(super) hook: Hook,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) point: Option<Point>,
    /// `KIND NAMESPACE/NAME`, or `KIND NAME`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) object: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) expect: Option<Value>,
}

impl std::fmt::Display for SceneCall {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.hook)?;
        if let Some(point) = self.point {
            write!(f, " {}", point.as_str())?;
        }
        self.object.iter().try_for_each(|object| write!(f, " {object}"))?;
        self.name.iter().try_for_each(|name| write!(f, " ({name})"))
    }
}

#[derive(Serialize)]
struct CallsOnly<'a> {
    calls: &'a [SceneCall],
}

impl SceneFile {
    /// Reads a file, or all scene files of a directory, sorted by name. `-` is standard input.
    pub(super) fn read_all(path: &Path) -> Result<Vec<Self>> {
        let refusal = |why: String| (Exit::Usage, format!("scene {}: {why}", path.display()).into());
        if !path.is_dir() {
            return Ok(vec![Self::read(path)?]);
        }
        let entries = std::fs::read_dir(path).and_then(Iterator::collect::<std::io::Result<Vec<_>>>);
        let entries = entries.map_err(|error| refusal(error.to_string()))?;
        let mut files: Vec<_> = entries.into_iter().map(|entry| entry.path()).collect();
        files.retain(|file| {
            file.extension().is_some_and(|end| EXTENSIONS.iter().any(|extension| end == *extension))
        });
        files.sort();
        if files.is_empty() {
            return Err(refusal("no .json, .yaml or .yml file is there".to_owned()));
        }
        files.iter().map(|file| Self::read(file)).collect()
    }

    /// Reads a file, or standard input.
    pub(super) fn read(path: &Path) -> Result<Self> {
        let refusal = |why: String| (Exit::Usage, format!("scene {}: {why}", path.display()).into());
        let content = read_file_or_stdin(path).map_err(|error| refusal(error.to_string()))?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        Self::parse(path, &name, &content).map_err(refusal)
    }

    fn parse(path: &Path, file: &str, content: &[u8]) -> Result<Self, String> {
        let mut documents = documents_of_content(file, content).map_err(|error| error.to_string())?;
        let Some(document) = documents.pop().filter(|_| documents.is_empty()) else {
            return Err("it must have one document".to_owned());
        };
        let mut fields = SceneFields::new("", document)?;
        let (version, kind) = (fields.take_value("apiVersion"), fields.take_value("kind"));
        let has_no_version = version.is_none() && kind.is_none();
        if !has_no_version && (version != Some(API_VERSION.into()) || kind != Some(KIND.into())) {
            return Err(format!("its apiVersion and kind must be {API_VERSION} and {KIND}"));
        }
        let objects = |fields: &mut SceneFields, side: &'static str| {
            let values: Vec<Value> = fields.take(side)?.unwrap_or_default();
            let objects = values.iter().enumerate().map(|(index, value)| {
                build_object(value)
                    .ok_or_else(|| format!("{side}[{index}]: it needs apiVersion, kind and name"))
            });
            objects.collect::<Result<Vec<Object>, String>>()
        };
        let mut scene = Scene {
            source: objects(&mut fields, "source")?,
            target: objects(&mut fields, "target")?,
            ..Scene::default()
        };
        let config = fields.take_value("config");
        if has_no_version {
            return Ok(Self {
                path: path.to_owned(),
                name: file.to_owned(),
                run: RunKind::Trial,
                config,
                grants: Map::new(),
                scene: Arc::new(scene),
                calls: Vec::new(),
                has_no_version,
                text: String::new(),
            });
        }
        let (name, run) = (fields.take("name")?, fields.take("run")?);
        let grants = fields.take("grants")?.unwrap_or_default();
        let probes: Map<String, Value> = fields.take("probes")?.unwrap_or_default();
        scene.probes = Arc::new(read_probes(probes)?);
        let calls: Vec<Value> = fields.take("calls")?.unwrap_or_default();
        fields.refuse_others()?;
        let calls = calls.into_iter().enumerate();
        Ok(Self {
            path: path.to_owned(),
            name: name.unwrap_or_else(|| file.to_owned()),
            run: run.unwrap_or(RunKind::Trial),
            config,
            grants,
            calls: calls.map(|(index, call)| read_call(index, call, &scene)).collect::<Result<_, _>>()?,
            scene: Arc::new(scene),
            has_no_version,
            text: String::from_utf8_lossy(content).into_owned(),
        })
    }

    /// Replaces the calls in the file. The rest of a YAML file stays as it is.
    pub(super) fn write_calls(&self) -> Result<(), String> {
        let text = if self.text.trim_start().starts_with('{') {
            replace_json_calls(&self.text, &self.calls)?
        } else {
            replace_yaml_calls(&self.text, &self.calls)?
        };
        // YAML has strings that a reader takes for other values.
        let name = self.path.to_string_lossy();
        let written = Self::parse(&self.path, &name, text.as_bytes())?;
        let answers = |calls: &[SceneCall]| calls.iter().map(|call| call.expect.clone()).collect::<Vec<_>>();
        if answers(&written.calls) != answers(&self.calls) {
            return Err("an answer can't be written as YAML: write the scene in JSON".to_owned());
        }
        replace_file(&self.path, &text)
    }
}

/// Replaces a file's content whole or not at all. A link keeps its target, and the file its permissions.
fn replace_file(path: &Path, text: &str) -> Result<(), String> {
    let io = |error: std::io::Error| error.to_string();
    let path = path.canonicalize().map_err(io)?;
    // A file that its owner protected from writes stays.
    let permissions =
        File::options().write(true).open(&path).and_then(|file| file.metadata()).map_err(io)?.permissions();
    let file = PrivateFile::reserve(&path, "the scene", std::iter::empty())?;
    let write = |file: &mut File| {
        file.write_all(text.as_bytes())?;
        file.set_permissions(permissions)
    };
    file.write_with(write).map_err(io)
}

fn replace_json_calls(text: &str, calls: &[SceneCall]) -> Result<String, String> {
    let mut document: Map<String, Value> = serde_json::from_str(text).map_err(|error| error.to_string())?;
    document.insert("calls".to_owned(), json!(calls));
    Ok(format!("{:#}\n", Value::Object(document)))
}

/// Replaces the lines from `calls:` to the next field.
fn replace_yaml_calls(text: &str, calls: &[SceneCall]) -> Result<String, String> {
    let yaml = serde_saphyr::to_string(&CallsOnly { calls }).map_err(|error| error.to_string())?;
    let lines: Vec<&str> = text.lines().collect();
    let begin = lines.iter().position(|line| line.starts_with("calls:"));
    let begin = begin.ok_or("no line begins with `calls:`: write the field at the start of a line")?;
    let (before, rest) = lines.split_at(begin);
    let mut end = rest
        .iter()
        .skip(1)
        .position(|line| line.starts_with(|c: char| !c.is_whitespace() && c != '-' && c != '#'))
        .map_or(rest.len(), |index| index + 1);
    // Comments above the next field belong to it.
    while end < rest.len() && rest.get(end - 1).is_some_and(|line| line.is_empty() || line.starts_with('#')) {
        end -= 1;
    }
    let after = rest.iter().skip(end).copied();
    let all = before.iter().copied().chain(yaml.lines()).chain(after);
    Ok(all.map(|line| format!("{line}\n")).collect())
}

/// Reads answers of endpoints. The status of an answer over HTTP is 200 by default.
pub(super) fn read_probes(probes: Map<String, Value>) -> Result<ProbeAnswers, String> {
    let probes = probes.into_iter().map(|(probe, answer)| {
        let path = format!("probes[{probe}]");
        if !["tcp ", "http ", "source ", "target "].iter().any(|word| probe.starts_with(word)) {
            return Err(format!(
                "{path}: write `tcp HOST:PORT`, `http URL`, `source NAMESPACE/SERVICE:PORT/PATH` or `target NAMESPACE/SERVICE:PORT/PATH`"
            ));
        }
        let mut fields = SceneFields::new(&path, answer)?;
        let (status, body, millis) = (fields.take("status")?, fields.take("body")?, fields.take("millis")?);
        let error: Option<String> = fields.take("error")?;
        let message: Option<String> = fields.take("message")?;
        fields.refuse_others()?;
        let is_tcp = probe.starts_with("tcp ");
        let answer = match error {
            Some(code) => Err(ServiceError::new(code, message.unwrap_or_default())),
            None => Ok(Answer {
                status: status.unwrap_or(if is_tcp { 0 } else { 200 }),
                body: body.unwrap_or_default(),
                took: Duration::from_millis(millis.unwrap_or_default()),
            }),
        };
        Ok((probe, answer))
    });
    probes.collect()
}

fn read_call(index: usize, call: Value, scene: &Scene) -> Result<SceneCall, String> {
    let mut fields = SceneFields::new(&format!("calls[{index}]"), call)?;
    let hook =
        fields.take("hook")?.ok_or_else(|| format!("{}: the field is missing", fields.path_of("hook")))?;
    let call = SceneCall {
        name: fields.take("name")?,
        hook,
        point: fields.take("point")?,
        object: fields.take("object")?,
        expect: fields.take_value("expect"),
    };
    let (point, object) = (fields.path_of("point"), fields.path_of("object"));
    fields.refuse_others()?;
    match (hook, call.point, &call.object) {
        (Hook::Check, None, _) => Err(format!("{point}: the field is missing; a check is called at a point")),
        (Hook::Check, _, Some(_)) => {
            Err(format!("{object}: a check is called for no single object; remove it"))
        }
        (Hook::Check, _, None) => Ok(call),
        (_, Some(_), _) => Err(format!("{point}: only a check is called at a point; remove it")),
        (_, _, None) => Err(format!("{object}: the field is missing; the hook is called for an object")),
        (_, _, Some(name)) => match find_object(hook, name, scene) {
            Some(_) => Ok(call),
            None => {
                let first = scene.source.iter().chain(&scene.target).next();
                let example = first.map(|object| format!(", as in `{}`", object.key())).unwrap_or_default();
                Err(format!(
                    "{object}: the scene has no object {name:?}; write `KIND NAMESPACE/NAME` without a group{example}"
                ))
            }
        },
    }
}

/// Returns the object of a call. `settle` is called for objects of the target; without one there, for an object right after it was
/// created.
pub(super) fn find_object<'a>(hook: Hook, name: &str, scene: &'a Scene) -> Option<&'a Object> {
    let settled = scene.target.iter().filter(|_| hook == Hook::Settle);
    settled.chain(&scene.source).find(|object| object.key().to_string() == name)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    const SCENE: &str = "apiVersion: pivot-host.io/v1alpha1\nkind: PluginScene\nsource:\n\
        - {apiVersion: test.io/v2, kind: Host, metadata: {name: h, namespace: lab}}\n# the calls\ncalls:\n\
        - hook: hold\n  object: Host lab/h\n\n# the rest\nprobes:\n  tcp 10.0.0.1:80: {error: unreachable}\n";

    #[test]
    fn target_of_a_link_stays() {
        let dir = tempfile::tempdir().unwrap();
        let [file, link] = ["a.yaml", "link.yaml"].map(|name| dir.path().join(name));
        fs::write(&file, "before").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
        std::os::unix::fs::symlink("a.yaml", &link).unwrap();
        replace_file(&link, "after").unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "after");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o640);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2, "no other file is left");
    }

    fn parse(text: &str) -> Result<SceneFile, String> {
        SceneFile::parse(Path::new("a.yaml"), "a.yaml", text.as_bytes())
    }

    #[test]
    fn mistyped_fields_are_refused_by_path() {
        for (right, wrong, why) in [
            ("source:", "sorce:", "sorce: there is no such field (did you mean source?)"),
            ("hook: hold", "hok: hold", "calls[0].hook: the field is missing"),
            ("hook: hold", "hook: hould", "calls[0].hook: unknown variant `hould`"),
            (
                "object: Host lab/h",
                "objct: Host lab/h",
                "calls[0].objct: there is no such field (did you mean object?)",
            ),
            (
                "object: Host lab/h",
                "object: Host lab/i",
                "calls[0].object: the scene has no object \"Host lab/i\"; write `KIND NAMESPACE/NAME` without a group, as in `Host lab/h`",
            ),
            ("object: Host lab/h", "point: before-pause", "calls[0].point: only a check"),
            ("hook: hold", "hook: check", "calls[0].point: the field is missing"),
            ("kind: Host, ", "", "source[0]: it needs apiVersion, kind and name"),
            (
                "error: unreach",
                "eror: unreach",
                "probes[tcp 10.0.0.1:80].eror: there is no such field (did you mean error?)",
            ),
            ("tcp 10", "udp 10", "probes[udp 10.0.0.1:80]: write `tcp HOST:PORT`"),
            ("v1alpha1", "v2", "its apiVersion and kind must be pivot-host.io/v1alpha1 and PluginScene"),
            ("kind: PluginScene", "run: mve", "its apiVersion and kind must be"),
        ] {
            let told = parse(&SCENE.replacen(right, wrong, 1)).err().unwrap_or_default();
            assert!(told.starts_with(why), "{wrong}: {told}");
        }
        assert!(parse(SCENE).is_ok());
    }

    #[test]
    fn files_without_version_have_objects_alone() {
        let old = r#"{"config": {}, "source": [], "calls": [{"hook": "hold", "of": 0}], "note": 1}"#;
        let scene = parse(old).unwrap();
        assert!(scene.has_no_version && scene.calls.is_empty());
    }

    #[test]
    fn updated_yaml_keeps_other_lines() {
        let mut calls = parse(SCENE).unwrap().calls;
        calls[0].expect = Some(serde_json::json!({"metadata": {"annotations": {"a": "yes", "b": "007"}}}));
        let text = replace_yaml_calls(SCENE, &calls).unwrap();
        assert_eq!(parse(&text).unwrap().calls[0].expect, calls[0].expect, "{text}");
        let (before, after) = SCENE.split_once("calls:\n").unwrap();
        assert!(text.starts_with(before), "{text}");
        assert!(text.ends_with(after.split_once("\n\n").unwrap().1), "{text}");
        assert!(text.contains("\n\n# the rest\n"), "{text}");
        calls[0].expect = Some(Value::Null);
        let text = replace_yaml_calls(SCENE, &calls).unwrap();
        assert_eq!(parse(&text).unwrap().calls[0].expect, Some(Value::Null), "{text}");
    }
}
