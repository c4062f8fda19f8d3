// The tab of tritonwin. Every text is set as text; nothing is loaded from elsewhere.
import { app } from "../../scripts/app.js";
import { api } from "../../scripts/api.js";

const DRIFT = "environment-drifted";
let shown = null; // the parts of the tab, once it was opened

function make(name, text = "", style = {}) {
  const element = document.createElement(name);
  element.textContent = text;
  Object.assign(element.style, style);
  return element;
}

async function ask(name, method = "GET") {
  try {
    const answer = await api.fetchApi("/tritonwin/" + name, { method, cache: "no-store" });
    return await answer.json();
  } catch (error) {
    return { error: String(error) };
  }
}

function problemOf(problem, place) {
  const box = make("details", "", { margin: "0.4em 0" });
  box.open = place === 0 && problem.severity !== "info";
  const name = problem.certainty === "certain" ? problem.severity : `${problem.severity}, ${problem.certainty}`;
  box.append(make("summary", `${name}: ${problem.title}`, { fontWeight: "bold", cursor: "pointer" }));
  box.append(make("p", problem.cause));
  const evidence = make("ul", "", { paddingLeft: "1.2em", overflowWrap: "anywhere" });
  for (const each of problem.evidence) evidence.append(make("li", each.text));
  box.append(evidence, make("p", problem.remedy.summary));
  const command = text => make("pre", text, { whiteSpace: "pre-wrap", overflowWrap: "anywhere" });
  box.append(...problem.remedy.commands.map(command));
  if (problem.question) box.append(make("p", problem.question.text), command(problem.question.command));
  for (const each of problem.references) {
    if (!each.startsWith("https://")) continue;
    const link = make("a", each, { display: "block", overflowWrap: "anywhere" });
    Object.assign(link, { href: each, target: "_blank", rel: "noopener noreferrer" });
    box.append(link);
  }
  box.append(command(`tritonwin explain --about ${problem.id}`));
  return box;
}

function problemsOf(problems, none) {
  return problems.length ? problems.map(problemOf) : [make("p", none)];
}

function showReport(report) {
  if (report.error) {
    shown.line.textContent = report.error;
    return;
  }
  shown.line.textContent = report.line;
  const attention = [make("p", report.attention)];
  if (report.refusals) {
    attention.push(make("p", `Calls that failed since the start, in which PyTorch's ran instead: ${report.refusals}`));
  }
  shown.attention.replaceChildren(...attention);
  const others = report.problems.filter(each => each.id !== DRIFT);
  shown.problems.replaceChildren(...problemsOf(others, "Nothing is wrong."));
  const drift = report.problems.filter(each => each.id === DRIFT);
  const check = report.checks.find(each => each.id === DRIFT);
  shown.drift.replaceChildren(...problemsOf(drift, check?.detail || "Nothing."));
  shown.repair.textContent = report.repair;
}

function showError(found) {
  const none = "No error was logged since ComfyUI started.";
  const texts = found.error ? [make("p", found.error)]
    : found.problems ? problemsOf(found.problems, "It is not known. Copy the report and ask with it.")
    : [make("p", none)];
  shown.error.replaceChildren(...texts);
}

async function look(method) {
  shown.line.textContent = "Looking at the machine ...";
  showReport(await ask(method === "POST" ? "look" : "report", method));
  showError(await ask("error"));
}

async function copy(button) {
  const issue = await ask("issue");
  const text = issue.text ?? issue.error;
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  } catch { // the address is no https, or the browser does not allow it
    shown.issue.value = text;
    shown.issue.hidden = false;
    shown.issue.select();
    button.textContent = "Press Ctrl+C";
  }
}

function render(element) {
  const root = make("div", "", { padding: "0.8em", overflowY: "auto", height: "100%",
    boxSizing: "border-box", color: "var(--fg-color)", fontSize: "0.9em", lineHeight: "1.4" });
  const section = title => {
    const body = make("div");
    root.append(make("h3", title, { margin: "1em 0 0.3em" }), body);
    return body;
  };
  const bar = make("div", "", { display: "flex", flexWrap: "wrap", gap: "0.5em" });
  const button = (text, act) => {
    const made = make("button", text, { padding: "0.3em 0.8em", cursor: "pointer" });
    made.type = "button";
    made.onclick = () => act(made);
    bar.append(made);
  };
  shown = { line: make("p", "", { fontWeight: "bold" }), issue: make("textarea"), repair: make("p") };
  shown.line.setAttribute("role", "status");
  shown.issue.setAttribute("aria-label", "The report");
  Object.assign(shown.issue, { hidden: true, readOnly: true, rows: 8 });
  shown.issue.style.width = "100%";
  root.append(shown.line, bar, shown.issue, shown.repair);
  button("Look again", () => look("POST"));
  button("Copy report", copy);
  shown.attention = section("The attention that runs");
  shown.error = section("The last error, explained");
  shown.problems = section("What is wrong");
  shown.drift = section("What changed since it was proven to work");
  element.replaceChildren(root);
  look("GET");
}

app.registerExtension({
  name: "tritonwin",
  setup() {
    app.extensionManager?.registerSidebarTab?.({
      id: "tritonwin", icon: "pi pi-wrench", title: "tritonwin", type: "custom", render,
      tooltip: "Triton, torch and attention: what is wrong",
    });
    api.addEventListener("execution_error", async () => {
      if (!shown) return;
      showError(await ask("error"));
    });
  },
});
