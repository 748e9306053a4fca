//! Plans as pictures, and reports of moves, as the program writes them.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::Value;
use tempfile::TempDir;

use crate::example::{code, err, host, json, of_example, out, paused};
use crate::schemas;

/// What a page shows, from the element that has its data.
fn data(page: &Path) -> Value {
    let text = fs::read_to_string(page).unwrap();
    let (_, data) = text.split_once("<script type=\"application/json\" id=\"data\">").unwrap();
    serde_json::from_str(data.split_once("</script>").unwrap().0).unwrap()
}

#[test]
fn plan_is_written_as_page_and_graphs() {
    let page = of_example("plan", &["-o", "html"]);
    assert_eq!(code(&page), 0, "{}", err(&page));
    let plan = json(&of_example("plan", &["-o", "json"]));
    let dir = TempDir::new().unwrap();
    fs::write(dir.path().join("plan.html"), &page.stdout).unwrap();
    let data = data(&dir.path().join("plan.html"));
    assert_eq!(data["plan"]["summary"], plan["summary"]);
    assert_eq!(data["head"]["source"], plan["source"]);
    let all = |list: &Value| list.as_array().unwrap().len();
    for what in ["steps", "stays"] {
        assert_eq!(all(&data["plan"][what]), all(&plan[what]), "{what}");
    }
    for (form, begin) in [("dot", "digraph plan {\n"), ("mermaid", "flowchart LR\n")] {
        let text = out(&of_example("plan", &["-o", form]));
        assert!(text.starts_with(begin) && text.contains("BareMetalHost"), "{text}");
    }
}

#[test]
fn refused_plan_shows_its_problems() {
    let paused = paused();
    let from = paused.path().to_str().unwrap();
    let page = host(&["plan", "--from-directory", from, "-o", "html"]);
    assert_eq!(code(&page), 3, "{}", err(&page));
    fs::write(paused.path().join("plan.html"), &page.stdout).unwrap();
    let data = data(&paused.path().join("plan.html"));
    assert_eq!(data["head"]["verdict"]["sign"], "bad");
    let problems = data["cards"]["problems"].as_array().unwrap();
    assert!(
        problems.iter().all(|one| one["remedy"].as_str().unwrap().contains("--accept already-paused")),
        "{data:#}"
    );
    let graph = host(&["plan", "--from-directory", from, "-o", "dot"]);
    assert_eq!(code(&graph), 3);
    assert!(
        out(&graph).contains("! 1 problem") && err(&graph).contains("--accept already-paused"),
        "{}",
        err(&graph)
    );
}

#[test]
fn stopped_plan_shows_the_plugins_words() {
    let dir = TempDir::new().unwrap();
    let plugin = dir.path().join("hostile.wasm");
    fs::copy(pivot_guests::guest("hostile").unwrap(), &plugin).unwrap();
    assert_eq!(code(&host(&["plugin", "add", "--grant", plugin.to_str().unwrap()])), 0);
    let grants = fs::read_to_string(dir.path().join("plugins.toml")).unwrap();
    let plan = |does: &str, form: &str| {
        let config = format!("{grants}\n[plugins.hostile.config]\ncheck = 'before-pause/{does}'\n");
        fs::write(dir.path().join("plugins.toml"), config).unwrap();
        of_example("plan", &["--plugins", dir.path().to_str().unwrap(), "-o", form])
    };
    let page = |does: &str| {
        let page = plan(does, "html");
        assert_eq!(code(&page), 3, "{}", err(&page));
        fs::write(dir.path().join("plan.html"), &page.stdout).unwrap();
        (data(&dir.path().join("plan.html")), err(&page))
    };
    let (stops, said) = page("stop");
    let judged = "1 problem: a move would be refused. Solve what is listed, then plan again.";
    assert_eq!(stops["head"]["verdict"]["text"], judged);
    let found = &stops["cards"]["problems"][0];
    assert_eq!((&found["by"], &found["message"]), (&"hostile".into(), &"no more of this".into()));
    assert!(said.contains("hostile: no more of this") && stops.get("message").is_none(), "{said}");
    let (fails, said) = page("trap");
    assert_eq!(fails["head"]["verdict"]["text"], "Planning stopped before everything was checked");
    let why = fails["message"][0].as_str().unwrap();
    assert!(why.contains("plugin hostile") && said.contains(why), "{why}: {said}");
    assert!(!fails["plan"]["steps"].as_array().unwrap().is_empty());
    let graph = plan("stop", "mermaid");
    assert_eq!(code(&graph), 3);
    assert!(out(&graph).starts_with("flowchart LR\n") && err(&graph).contains("no more of this"));
}

#[test]
fn finished_and_stopped_moves_leave_reports() {
    let dir = TempDir::new().unwrap();
    let at = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let moved = of_example("move", &["--to-directory", &at("copy"), "--report", &at("moved.json")]);
    assert_eq!(code(&moved), 0, "{}", err(&moved));
    let read = |name: &str| -> Value {
        let report = serde_json::from_str(&fs::read_to_string(at(name)).unwrap()).unwrap();
        schemas::check(&report);
        report
    };
    let report = read("moved.json");
    assert_eq!((&report["outcome"], &report["exitCode"]), (&"Copied".into(), &0.into()));
    let phases = report["phases"].as_array().unwrap();
    assert!(phases.iter().all(|phase| phase["state"] == "done"), "{phases:#?}");
    let created: u64 = phases.iter().filter_map(|phase| phase["changes"]["created"].as_u64()).sum();
    assert_eq!((created, &report["plan"]["summary"]["objects"]), (121, &121.into()));
    let rate = report["rate"]["changes"].as_array().unwrap().iter().map(|part| part.as_u64().unwrap());
    let changes = phases.iter().flat_map(|phase| phase["changes"].as_object().unwrap().values());
    assert_eq!(rate.sum::<u64>(), changes.map(|number| number.as_u64().unwrap()).sum::<u64>());
    let mode = fs::metadata(at("moved.json")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "names of objects are not for everyone");

    // The same once more: there is something already.
    let paused = paused();
    let from = paused.path().to_str().unwrap();
    let stopped = |file: &str| {
        host(&["move", "--from-directory", from, "--to-directory", &at("other"), "--report", &at(file)])
    };
    assert_eq!(code(&stopped("stopped.json")), 3);
    let report = read("stopped.json");
    assert_eq!((&report["outcome"], &report["exitCode"]), (&"Stopped".into(), &3.into()));
    assert!(report["result"]["state"].as_str().unwrap().contains("nothing"), "{report:#}");
    assert_eq!(code(&stopped("stopped.html")), 3);
    let page = data(Path::new(&at("stopped.html")));
    assert_eq!(page["head"]["verdict"]["text"], "Refused; nothing is changed on either side");
    assert_eq!(page["report"]["result"], report["result"]);
    assert!(!page["cards"]["problems"].as_array().unwrap().is_empty(), "{page:#}");
    let left =
        fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert!(left.into_iter().all(|name| !name.starts_with('.')), "no temporary file is left");
}

#[test]
fn unwritable_report_prevents_the_move() {
    let dir = TempDir::new().unwrap();
    fs::create_dir(dir.path().join("r.html")).unwrap();
    let at = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    for (file, exit, why) in [
        ("r.html", 3, "it is a directory"),
        ("no/r.json", 3, "No such file or directory"),
        ("r.txt", 2, "the name has to end in .html or .json"),
    ] {
        let output = of_example("move", &["--to-directory", &at("copy"), "--report", &at(file)]);
        assert_eq!(code(&output), exit, "{file}: {}", err(&output));
        assert!(err(&output).contains(why) && err(&output).contains(file), "{}", err(&output));
        assert!(!dir.path().join("copy").exists(), "{file}");
    }
    let early = of_example(
        "move",
        &["--to-directory", &at("copy"), "--with-manifest", &at("none.yaml"), "--report", &at("early.json")],
    );
    assert_eq!(code(&early), 3, "{}", err(&early));
    let report: Value = serde_json::from_str(&fs::read_to_string(at("early.json")).unwrap()).unwrap();
    schemas::check(&report);
    assert!(report["result"]["message"].as_str().unwrap().contains("none.yaml"), "{report:#}");
}
