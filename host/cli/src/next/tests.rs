use std::process::Command;

use pivot_core::GroupKind;
use pivot_engine::{Counts, Exit, Halt, PausedCluster};

use super::*;

const ALL: [Next; 8] = [
    Next::Status,
    Next::Resume,
    Next::Rollback,
    Next::ResumeWithoutSource,
    Next::RollbackWithoutTarget,
    Next::FinishHandover,
    Next::CancelHandover,
    Next::DeleteFromSource,
];

const OF_ONE: About<'_> =
    About { move_id: Some("1234"), committed: false, clusters: ClustersToName::SameAgain };

/// Fails to compile when a variant is added: [`ALL`] needs it, too.
fn place(next: Next) -> usize {
    match next {
        Next::Status => 0,
        Next::Resume => 1,
        Next::Rollback => 2,
        Next::ResumeWithoutSource => 3,
        Next::RollbackWithoutTarget => 4,
        Next::FinishHandover => 5,
        Next::CancelHandover => 6,
        Next::DeleteFromSource => 7,
    }
}

fn commands(words: &[&str]) -> (Commands, Choices) {
    let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    let choices = choices(&typed(&words));
    (Commands::new("pivot-host", &choices, &words), choices)
}

/// Parses a command line, or fails the test.
pub(crate) fn typed(words: &[String]) -> Task {
    let typed: Vec<_> = ["pivot-host".to_owned()].iter().chain(words).map(Into::into).collect();
    let parsed = args::parse(&typed).unwrap_or_else(|error| panic!("{words:?}: {error}"));
    args::check(parsed).unwrap_or_else(|error| panic!("{words:?}: {error:?}"))
}

fn choices(task: &Task) -> Choices {
    match task {
        Task::Plan(choices)
        | Task::Move(choices)
        | Task::Status(choices, _)
        | Task::Resume(choices, _)
        | Task::Rollback(choices, _) => choices.clone(),
        other => panic!("{other:?}"),
    }
}

/// Splits a line as a shell does.
pub(crate) fn by_a_shell(line: &str) -> Vec<String> {
    let output = Command::new("sh").args(["-c", &format!("printf '%s\\n' {line}")]).output().unwrap();
    assert!(output.status.success(), "{line}");
    String::from_utf8(output.stdout).unwrap().lines().skip(1).map(str::to_owned).collect()
}

/// Runs of every verb, between all sorts of ends.
const RUNS: [&[&str]; 41] = [
    &["plan"],
    &["plan", "--kubeconfig", "a b/it's", "-n", "ns"],
    &["plan", "--from-directory", "d"],
    &["move", "--to-kubeconfig", "b", "--with-manifest", "b o'm.yaml", "--with-manifest=-a.json"],
    &["resume", "--to-kubeconfig", "b", "--with-manifest", "a.yaml", "--plan", "p o.json", "--plugins", "p"],
    &["plan", "--to-kubeconfig", "b", "-A", "--plugins", "p", "--strict", "--trust", "t o.toml"],
    &["plan", "--to-directory=-d", "--kubeconfig-context", "x"],
    &["move", "--kubeconfig", "a", "--to-kubeconfig", "b", "-n", "ns"],
    &["move", "--kubeconfig", "both", "--context", "x", "--to-kubeconfig-context", "y", "-A"],
    &[
        "move",
        "--to-kubeconfig",
        "b",
        "--as",
        "jane",
        "--as-group",
        "ops",
        "--as-group",
        "d e v",
        "--to-as",
        "j",
    ],
    &["move", "--to-kubeconfig", "b", "--to-as", "j", "--to-as-group", "g", "--record-namespace", "moves"],
    &[
        "move",
        "--to-kubeconfig",
        "b",
        "--accept",
        "existing-differs",
        "--accept",
        "pause-unchecked",
        "--accept",
        "takeover-unchecked",
        "--plugins=-p",
    ],
    &[
        "move",
        "--to-kubeconfig",
        "b",
        "--accept",
        "owner-dropped=A.g",
        "--accept",
        "dependents-lost=B.g",
        "--accept",
        "already-paused",
    ],
    &["move", "--kubeconfig", "a", "--to-directory", "d"],
    &["move", "--from-directory", "it's", "--to-directory", "d", "-n", "ns"],
    &["move", "--dry-run=server", "--to-kubeconfig", "b"],
    &["status"],
    &["status", "--kubeconfig", "a"],
    &["status", "--to-kubeconfig", "b"],
    &["status", "--kubeconfig", "a", "--to-kubeconfig", "b"],
    &["resume", "--kubeconfig", "a", "--to-kubeconfig", "b", "--accept", "plugins-changed", "m"],
    &["resume", "--without-source", "--to-kubeconfig", "b", "--accept", "takeover-unchecked"],
    &["resume", "--from-directory", "d", "--to-kubeconfig", "b", "--drop", "ns/c", "--unpause", "ns/d"],
    &["rollback", "--kubeconfig", "a", "--to-kubeconfig", "b"],
    &["rollback", "--without-target", "--kubeconfig", "a", "--to-as", "j"],
    &["rollback", "--without-source", "--to-kubeconfig", "b"],
    &["move", "--from-directory", "d", "--to-kubeconfig", "b", "--accept", "source-may-run"],
    &["status", "--from-directory", "d", "--to-kubeconfig", "b"],
    &["move", "--kubeconfig", "a", "--to-workload", "ns/c", "--to-as", "j", "-A"],
    &["plan", "--to-workload", "c", "-A"],
    &["resume", "--to-workload", "ns/c", "m"],
    &["rollback", "--without-target", "--to-workload", "ns/c"],
    &["move", "--kubeconfig", "a", "--to-directory", "d", "--encrypt-to", "it's"],
    &["resume", "--to-directory", "d", "--encrypt-to=-r"],
    &[
        "move",
        "--from-directory",
        "d",
        "--identity",
        "k y",
        "--to-kubeconfig",
        "b",
        "--accept",
        "source-may-run",
    ],
    &["rollback", "--without-source", "--from-directory", "d", "--identity", "k", "--to-kubeconfig", "b"],
    &["handover", "start", "d", "--kubeconfig", "a"],
    &["handover", "finish", "--kubeconfig", "a", "--to-kubeconfig", "b", "--plugins", "p"],
    &["handover", "cancel", "--kubeconfig", "a", "--accept", "maybe-imported"],
    &["handover", "cancel", "--kubeconfig", "a", "--to-kubeconfig", "b", "--accept", "maybe-imported"],
    &["move", "--kubeconfig", "a", "--to-kubeconfig", "b", "--report", "r.html"],
];

#[test]
fn offered_commands_parse_and_keep_the_sides() {
    let mut offered = 0;
    for run in RUNS {
        let (commands, before) = commands(run);
        for (index, next) in ALL.into_iter().enumerate() {
            assert_eq!(place(next), index);
            for move_id in [None, Some("1234")] {
                let Some(line) = commands.command_line(next, About { move_id, ..About::default() }) else {
                    continue;
                };
                offered += 1;
                let task = typed(&by_a_shell(&line));
                let (after, same) = (choices(&task), line.ends_with(&run.join(" ")));
                let meant = match (&task, next) {
                    (Task::Status(..), Next::Status) | (Task::Resume(..), Next::Resume) => true,
                    (Task::Rollback(_, rollback), Next::Rollback) => {
                        let is_without = |absent: Option<Side>| absent == Some(Side::Source);
                        is_without(rollback.absent) == is_without(commands.gone)
                    }
                    (Task::Resume(_, resume), Next::ResumeWithoutSource) => resume.without_source,
                    (Task::Rollback(_, rollback), Next::RollbackWithoutTarget) => {
                        rollback.absent == Some(Side::Target)
                    }
                    (Task::Resume(_, resume), Next::FinishHandover) => resume.imported,
                    (Task::Rollback(..), Next::CancelHandover) => {
                        after.options(None).accept.contains(Risk::MaybeImported)
                    }
                    (Task::Resume(..), Next::DeleteFromSource) => {
                        after.options(None).accept.contains(Risk::WorldChanged)
                    }
                    (Task::Move(_) | Task::Plan(_), Next::Resume) => commands.no_records || same,
                    _ => false,
                };
                assert!(meant, "{run:?}: {line}: {task:?}");
                assert_eq!(side_flags(&after.connection), side_flags(&before.connection), "{run:?}: {line}");
                let workload = |choices: &Choices| choices.connection.to.to_workload.clone();
                assert_eq!(workload(&after), workload(&before), "{run:?}: {line}");
                let (there, here) = (before.options(None), after.options(None));
                assert_eq!(there.record_namespace, here.record_namespace, "{line}");
                if let Task::Resume(_, resume) = &task {
                    assert_eq!((&after.with, &after.add), (&before.with, &before.add), "{line}");
                    let accepted = |choices: &Choices| {
                        let words = match next {
                            Next::FinishHandover => choices.flags_to_finish_handover(),
                            _ => choices.flags_to_resume(),
                        };
                        words.into_iter().skip_while(|word| word != "--accept").collect::<Vec<_>>()
                    };
                    let mut expected = accepted(&before);
                    if next == Next::DeleteFromSource {
                        expected.extend(["--accept".to_owned(), "world-changed".to_owned()]);
                    }
                    assert_eq!(accepted(&after), expected, "{line}");
                    assert_eq!(resume.move_id.as_deref(), move_id, "{line}");
                }
            }
        }
    }
    assert!(offered > 100, "{offered}");
}

#[test]
fn plan_offers_a_move_with_its_flags() {
    let move_of = |run: &[&str]| commands(run).0.carry_out(None);
    let plan = [
        "plan",
        "--kubeconfig",
        "a b",
        "--to-kubeconfig",
        "b",
        "-n",
        "plan",
        "--tree",
        "-o=yaml",
        "--report",
        "r.html",
        "--accept",
        "already-paused",
    ];
    let expected = "pivot-host move --kubeconfig 'a b' --to-kubeconfig b -n plan --accept already-paused";
    assert_eq!(move_of(&plan).unwrap(), expected);
    let again = "pivot-host plan --kubeconfig 'a b' --to-kubeconfig b -n plan --tree --report r.html --accept already-paused";
    assert_eq!(commands(&plan).0.repeat_plan(true), again);
    let without_target = commands(&["plan", "-A", "-o", "html"]).0.repeat_plan(false);
    assert_eq!(without_target, "pivot-host plan -A --to-kubeconfig TARGET.kubeconfig");
    let dry_run = ["move", "--dry-run=server", "--to-kubeconfig", "b"];
    assert_eq!(move_of(&dry_run).unwrap(), "pivot-host move --to-kubeconfig b");
    assert_eq!(move_of(&["plan", "--kubeconfig", "a"]), None, "a move needs a target");
}

#[test]
fn saved_plan_offers_its_own_move() {
    let run = [
        "plan",
        "--to-kubeconfig",
        "b",
        "-A",
        "--out",
        "p o.json",
        "--plugins",
        "p",
        "--accept",
        "already-paused",
    ];
    let line = commands(&run).0.carry_out(Some(Path::new("p o.json"))).unwrap();
    assert_eq!(line, "pivot-host move --to-kubeconfig b --plan 'p o.json' --plugins p");
}

#[test]
fn commands_lacking_a_flag_are_not_offered() {
    let lines = |run: &[&str]| ALL.map(|next| commands(run).0.command_line(next, About::default()).is_some());
    // status, resume, rollback; … without source, … without target; … imported, … not imported; delete from the source
    assert_eq!(
        lines(&["status", "--kubeconfig", "a"]),
        [true, false, false, false, true, false, true, false]
    );
    assert_eq!(lines(&["plan", "--to-directory", "d"]), [true, true, true, false, true, false, true, false]);
    assert_eq!(lines(&["plan", "--to-kubeconfig", "b"]), [true; 8]);
    assert_eq!(
        lines(&["rollback", "--without-target"]),
        [true, false, true, false, true, false, true, false]
    );
    assert_eq!(
        lines(&["handover", "cancel", "--accept", "maybe-imported"]),
        [true, false, true, false, true, false, true, false]
    );
    let from_files = [false, true, false, false, false, false, false, false];
    assert_eq!(lines(&["plan", "--from-directory", "d"]), from_files);
    let workload = [true, true, true, false, true, true, true, true];
    assert_eq!(lines(&["plan", "--to-workload", "c"]), workload);
}

#[test]
fn workload_cluster_has_its_namespace() {
    let line = |run: &[&str], found: Option<&str>| {
        let (commands, _) = commands(run);
        found.into_iter().for_each(|found| commands.found_workload(found));
        commands.command_line(Next::Resume, About::default()).unwrap()
    };
    let resume = |workload| format!("pivot-host resume --kubeconfig a --to-workload {workload}");
    let run = ["move", "--kubeconfig", "a", "--to-workload", "c"];
    assert_eq!(line(&run, None), resume("c"), "nothing was looked up yet");
    assert_eq!(line(&run, Some("of-context/c")), resume("of-context/c"));
    assert_eq!(line(&[&run[..], &["-n", "ns"]].concat(), None), resume("ns/c"));
    let typed = ["move", "--kubeconfig", "a", "--to-workload", "elsewhere/c", "-n", "ns"];
    assert_eq!(line(&typed, None), resume("elsewhere/c"));
}

#[test]
fn line_repeats_flags_of_both_sides() {
    let run = [
        "move",
        "--kubeconfig",
        "a b/it's",
        "--to-kubeconfig",
        "/k/to",
        "--as",
        "jane",
        "--as-group",
        "ops",
        "--as-group",
        "dev",
        "--record-namespace",
        "moves",
    ];
    assert_eq!(
        commands(&run).0.command_line(Next::Resume, About::default()).unwrap(),
        r"pivot-host resume --kubeconfig 'a b/it'\''s' --as jane --to-kubeconfig /k/to --record-namespace moves --as-group ops --as-group dev"
    );
}

#[test]
fn stopped_runs_report_is_kept() {
    for verb in ["move", "resume", "rollback"] {
        let (next, before) = commands(&[verb, "--to-kubeconfig", "b", "--report", "r.html"]);
        assert_eq!(before.report.as_deref(), Some(std::path::Path::new("r.html")), "{verb}");
        for command in [Next::Resume, Next::Rollback] {
            let line = next.command_line(command, OF_ONE).unwrap();
            assert!(line.ends_with("--to-kubeconfig b 1234"), "{line}");
        }
    }
}

#[test]
fn repeated_command_writes_no_recording() {
    let run = |record: &[&str]| {
        let run = ["move", "--from-directory", "a", "--to-directory", "d", "--plugins", "p"];
        commands(&[&run[..], record].concat()).0.command_line(Next::Resume, About::default()).unwrap()
    };
    let again = "pivot-host move --from-directory a --to-directory d --plugins p";
    assert_eq!(run(&["--record", "f.jsonl"]), again);
    assert_eq!(run(&["--record=f.jsonl"]), again);
    // A command that continues a move with records has no flag about the recording either.
    let (next, before) = commands(&["move", "--to-kubeconfig", "b", "--plugins", "p", "--record", "f"]);
    assert_eq!(before.record.as_deref(), Some(std::path::Path::new("f")));
    let line = next.command_line(Next::Resume, OF_ONE).unwrap();
    assert_eq!(line, "pivot-host resume --to-kubeconfig b --plugins p 1234");
}

fn cluster(name: &str) -> Key {
    Key::new(GroupKind::new("cluster.x-k8s.io", "Cluster"), Some("ns"), name)
}

fn stop(failure: Failure, next: Next) -> Stop {
    let (move_id, phase) = (Some("1234".to_owned()), Some(Phase::Live));
    let (exit, state, times, done) = (Exit::PastCommit, String::new(), Vec::new(), Counts::default());
    Stop { failure, phase, exit, state, next: vec![next], move_id, times, done }
}

#[test]
fn commands_name_no_differing_cluster() {
    let paused_cluster = |name: &str, reasons: &[&str]| PausedCluster {
        cluster: cluster(name),
        reasons: reasons.iter().map(|reason| (*reason).to_owned()).collect(),
        can_be_named: true,
        can_be_dropped: false,
    };
    let line = |clusters| {
        let failure = Failure::LeftPaused { side: Side::Source, clusters, compared: true };
        let stop = stop(failure, Next::Rollback);
        let run = ["rollback", "--kubeconfig", "a", "--to-kubeconfig", "b"];
        commands(&run).0.command_line(Next::Rollback, About::of_stop(&stop)).unwrap()
    };
    let differing = paused_cluster("a", &["no provider ID yet: Machine ns/m"]);
    let rollback = "pivot-host rollback --kubeconfig a --to-kubeconfig b";
    let equal_too = vec![differing.clone(), paused_cluster("b", &[])];
    assert_eq!(line(equal_too), format!("{rollback} --unpause ns/b 1234"));
    assert_eq!(line(vec![differing]), format!("{rollback} 1234"));
}

#[test]
fn commands_name_the_clusters_that_stay_paused() {
    let cluster = cluster("a");
    let about = About { clusters: ClustersToName::StillPaused(Some(&cluster)), ..OF_ONE };
    let run =
        ["resume", "--to-kubeconfig", "b", "--accept", "takeover-unchecked", "--accept", "world-changed"];
    let line = |next| commands(&run).0.command_line(next, about).unwrap();
    assert_eq!(
        line(Next::Resume),
        "pivot-host resume --to-kubeconfig b --accept takeover-unchecked --unpause ns/a 1234"
    );
    assert_eq!(line(Next::Rollback), "pivot-host rollback --to-kubeconfig b --unpause ns/a 1234");
    assert_eq!(line(Next::Status), "pivot-host status --to-kubeconfig b");
    for next in [Next::Resume, Next::Rollback] {
        let named = match typed(&by_a_shell(&line(next))) {
            Task::Resume(_, resume) => resume.unpause,
            Task::Rollback(_, rollback) => rollback.unpause,
            other => panic!("{other:?}"),
        };
        assert_eq!(named.len(), 1);
    }
}

#[test]
fn stopped_runs_name_their_clusters_again() {
    let line = |run: &[&str], failure, next| {
        commands(run).0.command_line(next, About::of_stop(&stop(failure, next))).unwrap()
    };
    let resume = "pivot-host resume --from-directory d --to-kubeconfig b";
    let run = "resume --from-directory d --to-kubeconfig b --drop ns/b --unpause ns/a --drop ns/c";
    let run: Vec<&str> = run.split(' ').collect();
    let named = format!("{resume} --unpause ns/a --drop ns/b --drop ns/c");
    for halt in [Halt::Signal(2), Halt::LeaseLost("another run has it".into())] {
        assert_eq!(line(&run, Failure::Halted(halt), Next::Resume), format!("{named} 1234"));
    }
    // The user did not wait for a stop.
    let at_once = commands(&run).0.command_line(Next::Resume, About::default());
    assert_eq!(at_once, Some(named.clone()));
    let Task::Resume(_, again) = typed(&by_a_shell(&named)) else { panic!("{named}") };
    assert_eq!((again.unpause.len(), again.drop.len()), (1, 2));
    let unknown = || Failure::NoCluster { named: "ns/b".into(), there: Vec::new() };
    let differs = || Failure::RestoreDiffers(Vec::new());
    for failure in [differs(), Failure::Declined("no backup".into()), unknown()] {
        assert_eq!(line(&run, failure, Next::Resume), format!("{resume} 1234"));
    }
    let rollback = "pivot-host rollback --kubeconfig a --to-kubeconfig b --unpause ns/a";
    let run = ["rollback", "--kubeconfig", "a", "--to-kubeconfig", "b", "--unpause", "ns/a"];
    let killed = || Failure::Halted(Halt::Signal(2));
    assert_eq!(line(&run, killed(), Next::Rollback), format!("{rollback} 1234"));
    // Another verb unpauses other Clusters of these names.
    let resume = "pivot-host resume --kubeconfig a --to-kubeconfig b 1234";
    assert_eq!(line(&run, killed(), Next::Resume), resume);
}

#[test]
fn continuing_commands_name_plugins_and_files() {
    let run = ["move", "--to-kubeconfig", "b", "--with-manifest", "bom.yaml"];
    let line = |next| commands(&run).0.command_line(next, About::default()).unwrap();
    assert_eq!(line(Next::Resume), "pivot-host resume --to-kubeconfig b --with-manifest bom.yaml");
    assert_eq!(line(Next::Rollback), "pivot-host rollback --to-kubeconfig b");
    // What is added is in the target then.
    let committed = About { committed: true, ..About::default() };
    let line = commands(&run).0.command_line(Next::Resume, committed).unwrap();
    assert_eq!(line, "pivot-host resume --to-kubeconfig b");
    let run = [
        "move",
        "--to-kubeconfig",
        "b",
        "--plugins",
        "./plugins",
        "--strict",
        "--accept",
        "takeover-unchecked",
    ];
    let (next, _) = commands(&run);
    let line = |command, id| next.command_line(command, id).unwrap();
    let resume =
        "pivot-host resume --to-kubeconfig b --plugins ./plugins --strict --accept takeover-unchecked";
    assert_eq!(line(Next::Resume, About::default()), resume);
    assert_eq!(line(Next::Status, OF_ONE), "pivot-host status --to-kubeconfig b");
    assert_eq!(line(Next::Rollback, OF_ONE), "pivot-host rollback --to-kubeconfig b 1234");
    assert_eq!(
        line(Next::RollbackWithoutTarget, About::default()),
        "pivot-host rollback --without-target --to-kubeconfig b"
    );
    let without = "pivot-host resume --without-source --to-kubeconfig b --plugins ./plugins --strict --accept takeover-unchecked";
    assert_eq!(line(Next::ResumeWithoutSource, About::default()), without);
}
