// The form: shows the questions, randomises the answers, and sends the reports.
// It stores reports in this browser, and never answers. A report is drawn once, and the same
// report is sent again if sending fails or the page is reopened, because a second draw would
// reveal more about the answer.
"use strict";

const survey = JSON.parse(document.getElementById("survey").textContent);
const form = document.getElementById("questions");
const statusLine = document.getElementById("status");

function element(kind, properties = {}, ...children) {
  const made = Object.assign(document.createElement(kind), properties);
  made.append(...children);
  return made;
}

function freshId() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

const remembered = (key) => JSON.parse(localStorage.getItem(key));
const remember = (key, value) => localStorage.setItem(key, JSON.stringify(value));

function choices({ name, options }) {
  return options.map((option, place) => {
    const input = element("input", { type: "radio", name, value: place, required: true });
    return element("label", { className: "option" }, input, element("span", { textContent: option }));
  });
}

function number({ name, lowest, highest }) {
  const input = element("input", {
    type: "number", name, min: lowest, max: highest, step: 1, required: true, inputMode: "numeric",
  });
  const range = `a whole number from ${lowest} to ${highest}`;
  return [element("label", { className: "number" }, input, element("span", { textContent: range }))];
}

function card(question) {
  const inputs = remembered(question.key)
    ? [element("p", { className: "again", textContent: survey.again })]
    : (question.options ? choices : number)(question);
  return element("fieldset", {},
    element("legend", { textContent: question.text }), ...inputs,
    element("p", { className: "odds", textContent: question.promise }));
}

// The answer as an integer from 0 on, as the randomiser expects it.
function answered({ name, lowest = 0 }) {
  return Number(new FormData(form).get(name)) - lowest;
}

function draw(question) {
  const report = remembered(question.key) ?? randomise(question.recipe, answered(question));
  if (question.remember) remember(question.key, report);
  return report;
}

// Draws once for this wave; from then on the same reports are sent.
function reports() {
  const drawn = remembered(survey.key) ?? {
    survey: survey.survey,
    id: freshId(),
    reports: Object.fromEntries(survey.questions.map((question) => [question.name, draw(question)])),
  };
  remember(survey.key, drawn);
  return drawn;
}

function shown({ options, lowest, recipe }, report) {
  if (options) return report.map((place) => options[place]).join(", ");
  if (recipe.kind === "oneBit") return report[0] ? "high" : "low";
  return String(report[0] + lowest - recipe.reach);
}

function showSent(sent) {
  const rows = survey.questions.flatMap((question) => [
    element("dt", { textContent: question.text }),
    element("dd", { textContent: shown(question, sent.reports[question.name]) }),
  ]);
  document.getElementById("sent").append(element("dl", {}, ...rows));
  document.getElementById("raw").textContent = JSON.stringify(sent);
  document.getElementById("done").hidden = false;
  form.hidden = true;
}

async function send() {
  const sent = reports();
  form.querySelector("button").disabled = true;
  statusLine.textContent = "Sending …";
  try {
    const reply = await fetch("reports", { method: "POST", body: JSON.stringify(sent) });
    if (!reply.ok) throw new Error(await reply.text());
    statusLine.textContent = "";
    showSent(sent);
  } catch (error) {
    form.querySelector("button").disabled = false;
    statusLine.textContent = `Not sent: ${error.message} Try again; the same reply will be sent.`;
  }
}

form.prepend(...survey.questions.map(card));
form.addEventListener("submit", (event) => { event.preventDefault(); send(); });
if (remembered(survey.key)) send(); // the reports were drawn before, so only send them again
