// Show the page's ipywidgets from the state that the build has stored, with the browser's own
// controls. There is no kernel: what a control changes is what `jslink` has linked to it.
// Only what `frames` and `choice` are made of is known here; anything else is an error.
"use strict";

const JSON_TYPE = "application/vnd.jupyter.widget-";
const models = new Map();
let count = 0;

document.addEventListener("DOMContentLoaded", async () => {
  const stored = document.querySelector(`script[type="${JSON_TYPE}state+gzip"]`).text;
  const packed = new Blob([Uint8Array.from(atob(stored), (c) => c.charCodeAt(0))]).stream();
  const unpacked = new Response(packed.pipeThrough(new DecompressionStream("gzip")));
  for (const [id, model] of Object.entries((await unpacked.json()).state)) {
    models.set(id, { kind: model.model_name.replace(/Model$/, ""), ...model.state, heard: [] });
  }
  for (const { kind, source, target } of models.values()) {
    if (kind === "Link") link(source, target);
  }
  for (const script of document.querySelectorAll(`script[type="${JSON_TYPE}view+json"]`)) {
    const place = element("div", "widget-subarea");
    script.before(place);
    place.append(show(JSON.parse(script.text).model_id));
  }
});

function model(reference) {
  return models.get(reference.replace("IPY_MODEL_", ""));
}

function set(owner, trait, value) {
  if (owner[trait] === value) return;
  owner[trait] = value;
  for (const hear of owner.heard) hear(trait);
}

function link([source, here], [target, there]) {
  const [a, b] = [model(source), model(target)];
  a.heard.push((trait) => trait === here && set(b, there, a[here]));
  b.heard.push((trait) => trait === there && set(a, here, b[there]));
}

function show(reference) {
  const shown = model(reference);
  if (!VIEWS[shown.kind]) throw new Error(`the page cannot show the widget ${shown.kind}`);
  const view = VIEWS[shown.kind](shown);
  view.classList.add("jupyter-widgets", ...(shown._dom_classes ?? []));
  const layout = Object.entries(shown.layout ? model(shown.layout) : {});
  for (const [name, value] of layout) {
    if (typeof value === "string" && name in BOX) view.style.setProperty(BOX[name], value);
  }
  return view;
}

const BOX = {
  align_items: "align-items", flex_flow: "flex-flow", grid_gap: "gap", margin: "margin",
  width: "width",
};

const VIEWS = {
  HTML: ({ value }) => html(element("div", "widget-html"), value),
  HTMLMath: ({ value }) => html(element("div", "widget-htmlmath"), value),
  HBox: (owner) => box("widget-hbox", owner.children),
  VBox: (owner) => question(owner, box("widget-vbox", owner.children)),
  Stack: stack,
  SelectionSlider: slider,
  ToggleButtons: toggles,
  RadioButtons: radios,
  Dropdown: menu,
  Select: menu,
  Play: player,
};

function box(kind, children) {
  const view = element("div", kind);
  view.append(...children.map(show));
  return view;
}

function question(owner, view) {
  if (owner._dom_classes.includes("fedlab-quiz")) {
    view.setAttribute("role", "group");
    view.firstChild.id = `widget-${(count += 1)}`;
    view.setAttribute("aria-labelledby", view.firstChild.id);
    remember(owner);
  }
  return view;
}

// The reader's last answer is shown again, and a new one is kept.
function remember(owner) {
  const [asked, buttons, reply] = owner.children.map(model);
  const answers = buttons._options_labels;
  const last = answers.indexOf(progress.recall(asked.value)?.last.answer);
  if (last >= 0) set(buttons, "index", last);
  buttons.heard.push((trait) => {
    if (trait !== "index") return;
    const right = model(reply.children[buttons.index]).value.includes("<strong>Right.");
    progress.note(asked.value, { answer: answers[buttons.index], right });
  });
}

function stack(owner) {
  const view = element("div", "widget-stack");
  if (owner._dom_classes.length) view.setAttribute("aria-live", "polite"); // the outermost
  const chosen = owner.children.map(() => null); // each is made when it is first seen
  const turn = () => {
    const i = owner.selected_index;
    if (i !== null) chosen[i] ??= show(owner.children[i]);
    view.replaceChildren(...(i === null ? [] : [chosen[i]]));
  };
  owner.heard.push((trait) => trait === "selected_index" && turn());
  turn();
  return view;
}

function slider(owner) {
  const max = owner._options_labels.length - 1;
  const range = Object.assign(element("input"), { type: "range", min: 0, max, step: 1 });
  const readout = element("output", "widget-readout");
  const move = () => {
    range.value = owner.index;
    readout.textContent = owner._options_labels[owner.index];
    range.setAttribute("aria-valuetext", readout.textContent);
  };
  range.addEventListener("input", () => set(owner, "index", Number(range.value)));
  owner.heard.push((trait) => trait === "index" && move());
  move();
  return labelled("widget-slider", owner, range, readout);
}

function toggles(owner) {
  const view = group("widget-toggle-buttons", owner);
  const buttons = owner._options_labels.map((text, i) => {
    const button = Object.assign(element("button", "widget-toggle-button"), { type: "button" });
    button.addEventListener("click", () => set(owner, "index", i));
    return typeset(Object.assign(button, { textContent: text }));
  });
  const press = () =>
    buttons.forEach((button, i) => button.setAttribute("aria-pressed", i === owner.index));
  owner.heard.push(press);
  press();
  view.append(...buttons);
  return view;
}

function radios(owner) {
  const view = group("widget-radio-box", owner);
  const name = `widget-${(count += 1)}`; // answers of one name are one group to the arrow keys
  const inputs = owner._options_labels.map((text, i) => {
    const input = Object.assign(element("input"), { type: "radio", name });
    input.addEventListener("change", () => set(owner, "index", i));
    const label = element("label");
    label.append(input, typeset(Object.assign(element("span"), { textContent: text })));
    view.append(label);
    return input;
  });
  const check = () => inputs.forEach((input, i) => (input.checked = i === owner.index));
  owner.heard.push(check);
  check();
  return view;
}

function menu(owner) {
  const select = element("select");
  select.append(...owner._options_labels.map((text) => new Option(text)));
  const choose = () => (select.selectedIndex = owner.index);
  select.addEventListener("change", () => set(owner, "index", select.selectedIndex));
  owner.heard.push(choose);
  choose();
  return labelled("widget-dropdown", owner, select);
}

function player(owner) {
  const view = element("div", "widget-play");
  view.setAttribute("role", "group");
  view.setAttribute("aria-label", "animation");
  const [play, stop] = [element("button"), element("button")];
  let timer = null;
  const run = (on) => {
    clearInterval(timer);
    timer = on ? setInterval(step, owner.interval) : null;
    play.textContent = on ? "Pause" : "Play";
    // a screen reader would not come to an end of what a moving picture shows
    const pictures = view.closest(".widget-vbox")?.querySelectorAll("[aria-live]") ?? [];
    for (const picture of pictures) picture.setAttribute("aria-live", on ? "off" : "polite");
  };
  const step = () => {
    if (owner.value >= owner.max) run(false);
    else set(owner, "value", owner.value + owner.step);
  };
  play.addEventListener("click", () => {
    if (!timer && owner.value >= owner.max) set(owner, "value", owner.min);
    run(!timer);
  });
  stop.addEventListener("click", () => {
    run(false);
    set(owner, "value", owner.min);
  });
  play.type = stop.type = "button";
  stop.textContent = "Reset";
  run(false);
  view.append(play, stop);
  return view;
}

function labelled(kind, owner, ...controls) {
  const [view, label] = [element("div", kind), element("label", "widget-label")];
  label.htmlFor = controls[0].id = `widget-${(count += 1)}`;
  if (owner.description.includes("$")) controls[0].setAttribute("aria-label", spoken(owner));
  view.append(caption(label, owner), ...controls);
  return view;
}

function group(kind, owner) {
  const view = element("div", kind);
  view.setAttribute("role", "group");
  view.setAttribute("aria-label", spoken(owner) || "answers");
  if (owner.description) view.append(caption(element("span", "widget-label"), owner));
  return view;
}

function caption(view, { description }) {
  return typeset(Object.assign(view, { textContent: description }));
}

function spoken({ description }) {
  return description.replace(/[$\\{}]/g, ""); // of a formula the names of its letters
}

function html(view, value) {
  view.innerHTML = value;
  return typeset(view);
}

function typeset(view) {
  const mathematics = view.textContent.includes("$") && window.MathJax?.startup;
  if (mathematics) {
    mathematics.promise = mathematics.promise.then(() => MathJax.typesetPromise([view]));
  }
  return view;
}

function element(tag, kind = "") {
  return Object.assign(document.createElement(tag), { className: kind });
}
