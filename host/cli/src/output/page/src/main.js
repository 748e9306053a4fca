// The page of a plan, or of a move that ended or stopped: the answer first, then what is wrong, then the map, then everything else.
import { answer } from "./answer.js";
import { cards } from "./findings.js";
import { clusterMap } from "./map.js";
import { FATES, neededObjects, read } from "./model.js";
import { objects } from "./objects.js";
import { onPaper } from "./paper.js";
import { delays, failed, moves, phases, risks, stop } from "./story.js";

const shown = JSON.parse(document.getElementById("data").textContent);
const { head, files, plan, report, message, cards: said } = shown;
if (files) FATES.move = { ...FATES.move, word: "copied", long: "Copied: nothing in the source is deleted" };

const accepted = report?.accepted ?? shown.accepted;
const model = plan && read(plan, said);
const needed = model ? neededObjects(plan, model.named) : [];
const list = model && objects(model);
const object = list?.object ?? ((name, words = name) => words);
const ended = report?.exitCode === 0;
const verb = (number) => (files ? (ended ? "copied" : number === 1 ? "is copied" : "are copied") : ended ? "moved" : number === 1 ? "moves" : "move");

const parts = [
  answer({ ...shown, accepted }, said, needed),
  report ? stop(shown) : message && failed(message),
  cards("problems", said.problems, object),
  plan && moves(plan.moves),
  report && phases(report, files),
  model && clusterMap({ model, head, summary: plan.summary, needed, verb, ...list }),
  risks(accepted),
  cards("warnings", said.warnings, object),
  list?.box,
  cards("notes", said.notes, object),
  ...(report ? delays(report) : []),
];
document.getElementById("page").append(...parts.filter(Boolean));
if (model) onPaper(model);
document.documentElement.dataset.ready = "yes";
