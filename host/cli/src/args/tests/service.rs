//! Agents and controllers.

use pivot_controller::{
    AcceptedAgents, AgentCredentials, AgentInstallation, ControllerInstallation, Mounts, agent_manifests,
    controller_manifests,
};

use super::*;

#[test]
fn printed_deployment_uses_its_pods_name() {
    let objects = controller_manifests(&ControllerInstallation {
        image: "i".to_owned(),
        namespace: "own".to_owned(),
        replicas: 2,
        agents: AcceptedAgents::Invitation(vec!["a.example.com".to_owned()]),
        also_copy: vec!["Secret/keys/*:hand-on".to_owned()],
        accept_returns: vec!["shop".to_owned()],
        mounts: Mounts::default(),
        pod_monitor: false,
    });
    let deployment = objects.iter().find(|object| object["kind"] == "Deployment").unwrap();
    let container = &deployment["spec"]["template"]["spec"]["containers"][0];
    let args: Vec<&str> =
        container["args"].as_array().unwrap().iter().map(|arg| arg.as_str().unwrap()).collect();
    let Task::Controller(ControllerVerb::Run(typed)) = meant(&format!("pivot-host {}", args.join(" ")))
    else {
        panic!("{args:?}")
    };
    assert_eq!(typed.lease_identity.as_deref(), Some("$(POD_UID)"));
    let variable = &container["env"][0];
    assert_eq!(
        (&variable["name"], &variable["valueFrom"]["fieldRef"]["fieldPath"]),
        (&"POD_UID".into(), &"metadata.uid".into())
    );
}

#[test]
fn printed_probes_ask_the_opened_port() {
    let agent = agent_manifests(&AgentInstallation {
        image: "i".to_owned(),
        namespace: "own".to_owned(),
        credentials: AgentCredentials::Mounted("tls".to_owned()),
        arguments: ["--call", "a:1", "--allow-namespace", "shop"].map(str::to_owned).to_vec(),
        takes_leases: false,
        mounts: Mounts::default(),
    });
    let controller = controller_manifests(&ControllerInstallation {
        image: "i".to_owned(),
        namespace: "own".to_owned(),
        replicas: 2,
        agents: AcceptedAgents::None,
        also_copy: Vec::new(),
        accept_returns: Vec::new(),
        mounts: Mounts::default(),
        pod_monitor: false,
    });
    for objects in [agent, controller] {
        let deployment = objects.iter().find(|object| object["kind"] == "Deployment").unwrap();
        let container = &deployment["spec"]["template"]["spec"]["containers"][0];
        let args: Vec<&str> =
            container["args"].as_array().unwrap().iter().map(|arg| arg.as_str().unwrap()).collect();
        let opened = match meant(&format!("pivot-host {}", args.join(" "))) {
            Task::Agent(AgentVerb::Run(typed)) => typed.health.unwrap(),
            Task::Controller(ControllerVerb::Run(typed)) => typed.health.unwrap(),
            _ => panic!("{args:?}"),
        };
        assert!(opened.ip().is_unspecified(), "{opened}");
        for (probe, path) in
            [("startupProbe", "/healthz"), ("livenessProbe", "/healthz"), ("readinessProbe", "/readyz")]
        {
            let get = &container[probe]["httpGet"];
            assert_eq!(get["path"], path, "{probe}");
            let mut ports = container["ports"].as_array().unwrap().iter();
            let port = ports.find(|port| port["name"] == get["port"]).unwrap();
            assert_eq!(port["containerPort"], opened.port(), "{probe}");
        }
    }
}

#[test]
fn agents_and_controllers_identify_in_two_ways() {
    let agent = "pivot-host agent run --call a:1 --allow-namespace shop";
    let controller = "pivot-host controller run --agents 127.0.0.1:1";
    for line in [
        format!("{agent} --tls DIR"),
        format!("{agent} --credentials a/b"),
        format!("{controller} --agents-tls DIR"),
        format!("{controller} --agents-host a --agents-host b"),
        "pivot-host generate controller --image a --agents-host a --agents-host b".to_owned(),
        "pivot-host agent remove edge -n shop".to_owned(),
    ] {
        meant(&line);
    }
    for (line, why) in [
        (agent.to_owned(), "--credentials <NAMESPACE/NAME>"),
        (format!("{agent} --tls DIR --credentials a/b"), "cannot be used with"),
        (format!("{agent} --credentials a"), "a namespace, a slash and a name are needed"),
        (format!("{agent} --credentials a/b/c"), "a namespace, a slash and a name are needed"),
        (format!("{agent} --tls DIR --finish-alone-after 0"), "give it some minutes"),
        (format!("{agent} --tls DIR --finish-alone-after soon"), "is not a duration"),
        (controller.to_owned(), "required"),
        (format!("{controller} --agents-tls DIR --agents-host a"), "cannot be used with"),
        ("pivot-host controller run --agents-host a".to_owned(), "--agents <ADDRESS>"),
        (
            "pivot-host generate controller --image a --agents-host a --agents-secret b".to_owned(),
            "cannot be used with",
        ),
        (
            "pivot-host agent invite edge --image a --call a:1 --allow-namespace shop".to_owned(),
            "--namespace <NAME>",
        ),
        ("pivot-host agent remove edge".to_owned(), "--namespace <NAME>"),
        (
            "pivot-host agent invite edge -n shop --image a --call localhost --allow-namespace shop"
                .to_owned(),
            "\"localhost\" is not HOST:PORT",
        ),
    ] {
        let refused = parsed(&line).unwrap_err();
        assert!(refused.contains(why), "{line}: {refused}");
    }
}
