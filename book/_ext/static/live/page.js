"use strict";
/* Live cells in a page: editors, controls, and one worker that runs Python; see __init__.py. */
(() => {
  const SECONDS = 3; // then a run is stopped
  const folder = document.currentScript.src.replace(/page\.js.*$/, "");
  const still = matchMedia("(prefers-reduced-motion: reduce)");

  function make(tag, properties = {}, ...children) {
    const element = Object.assign(document.createElement(tag), properties);
    element.append(...children);
    return element;
  }

  // Files are scripts that call liveLoaded: pages opened from a folder may not fetch.
  const files = {}, arrived = {};
  window.liveLoaded = (name, value) => arrived[name](value);
  const load = (name) => (files[name] ??= new Promise((done, fail) => {
    arrived[name] = done;
    const file = name.split("/").at(-1).replace(/\.json$/, "") + ".js";
    const script = make("script", {src: folder + file});
    script.onerror = () => { delete files[name]; fail(new Error(`${file} is missing`)); };
    document.head.append(script);
  }));

  /* The worker lives in a frame of its own origin, without network, storage or this page. */
  const FRAME = `<meta http-equiv="Content-Security-Policy" content="default-src 'none';
    script-src 'unsafe-inline' 'wasm-unsafe-eval' blob:; worker-src blob:"><script>
    let worker;
    onmessage = ({data, ports}) => {
      if (!ports.length) return worker?.terminate();
      const url = URL.createObjectURL(new Blob([data], {type: "text/javascript"}));
      worker = new Worker(url);
      worker.postMessage(null, ports);
    };
  </` + "script>";
  let frame = null, port = null, started = null, sent = new Set(), queue = Promise.resolve();

  function stop() {
    const old = frame;
    old?.contentWindow?.postMessage("stop", "*"); // WebKit ends no loop of a frame that goes
    setTimeout(() => old?.remove(), 1000);
    frame = port = started = null;
    sent = new Set();
  }

  const ask = (message, seconds) => new Promise((done) => {
    const late = setTimeout(() => {
      stop();
      done({error: `stopped after ${seconds} seconds: is there a loop without an end?`});
    }, seconds * 1000);
    port.onmessage = ({data}) => { clearTimeout(late); done(data); };
    port.postMessage(message);
  });

  async function begin() {
    const {worker, wasm} = await load("engine");
    const channel = new MessageChannel();
    frame = make("iframe", {srcdoc: FRAME, hidden: true, title: "Python"});
    frame.setAttribute("sandbox", "allow-scripts");
    await new Promise((done) => { frame.onload = done; document.body.append(frame); });
    port = channel.port1;
    frame.contentWindow.postMessage(worker, "*", [channel.port2]);
    const packed = new Blob([Uint8Array.from(atob(wasm), (c) => c.charCodeAt(0))]).stream();
    const unpacked = new Response(packed.pipeThrough(new DecompressionStream("gzip")));
    const {error} = await ask({wasm: new Uint8Array(await unpacked.arrayBuffer())}, 60);
    if (error) throw new Error(error);
  }
  const ready = () => (started ??= begin().catch((error) => { stop(); throw error; }));

  async function message(cell, request) {
    const {modules} = await load("engine"), data = cell.data ? await load(cell.data) : "";
    await ready();
    const fresh = cell.modules.filter((name) => !sent.has(name));
    const files = {modules: Object.fromEntries(fresh.map((name) => [name, modules[name]]))};
    if (data && !sent.has(cell.data)) files.data = {[cell.data]: data};
    for (const name of [...fresh, cell.data]) sent.add(name);
    await ask(files, 60);
    const answer = await ask({request}, SECONDS); // the limit is for the reader's code
    if (answer.broken) stop();
    return answer;
  }
  const run = (cell, request) => (queue = queue.then(
    () => message(cell, request).catch((error) => ({error: error.message}))));

  /* The colours of Pygments, which follow the theme. */
  const KEYWORDS = "and as assert break class continue def del elif else except finally for from " +
    "global if import in is lambda nonlocal not or pass raise return try while with yield " +
    "None True False";
  const BUILTINS = "abs all any dict enumerate float int len list max min print range reversed " +
    "round set sorted str sum tuple zip";
  const words = (text) => `\\b(?:${text.replaceAll(" ", "|")})\\b`;
  const TOKENS = new RegExp([
    "(?<c1>#.*)",
    "(?<s2>[rf]?\"\"\"[^]*?(?:\"\"\"|$)|[rf]?\"(?:\\\\.|[^\"\\\\\\n])*\"?|[rf]?'(?:\\\\.|[^'\\\\\\n])*'?)",
    `(?<k>${words(KEYWORDS)})`, "(?<mi>\\b\\d[\\w.]*)", `(?<nb>${words(BUILTINS)})`,
  ].join("|"), "g");

  function colour(text, into) {
    into.textContent = "";
    let at = 0;
    for (const match of text.matchAll(TOKENS)) {
      const [kind] = Object.entries(match.groups).find(([, found]) => found !== undefined);
      into.append(text.slice(at, match.index), make("span", {className: kind}, match[0]));
      at = match.index + match[0].length;
    }
    into.append(text.slice(at) + "\n");
  }

  function keys(event, area, go) {
    const {selectionStart: from, selectionEnd: to, value} = area;
    const line = value.slice(value.lastIndexOf("\n", from - 1) + 1, from);
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey || event.shiftKey)) go();
    else if (event.key === "Enter") {
      const indent = line.match(/^ */)[0] + (/:\s*(#.*)?$/.test(line) ? "    " : "");
      document.execCommand("insertText", false, "\n" + indent); // what undo knows
    } else if (event.key === "Backspace" && from === to && /^( {4})+$/.test(line)) {
      area.setSelectionRange(from - 4, to);
      document.execCommand("delete");
    } else return;
    event.preventDefault();
  }

  function editor(cell, given, go) {
    const area = make("textarea", {value: given.text, spellcheck: false, autocomplete: "off"});
    for (const [name, value] of [["autocapitalize", "off"], ["wrap", "off"],
      ["aria-label", `Python: ${given.label}. Control and Enter run it.`]]) area.setAttribute(name, value);
    const back = make("div"); // not a pre, which the theme would make a stop of the Tab key
    back.setAttribute("aria-hidden", "true");
    const fit = () => { colour(area.value, back); area.rows = area.value.split("\n").length; };
    area.addEventListener("input", fit);
    area.addEventListener("keydown", (event) => keys(event, area, go));
    cell.querySelector("[class*=highlight-]").replaceWith(
      make("div", {className: "live-editor"}, make("div", {className: "highlight"}, back), area));
    fit();
    return {area, set: (text) => { area.value = text; fit(); }};
  }

  let controls = 0;
  function control(name, spec, changed) {
    const id = `live-${controls++}`, label = make("label", {htmlFor: id}, spec.label ?? name);
    if (spec.options) {
      const box = make("select", {id, onchange: changed},
        ...spec.options.map((option) => make("option", {}, String(option))));
      return {row: make("div", {}, label, box), value: () => spec.options[box.selectedIndex],
        reset: () => { box.selectedIndex = 0; }};
    }
    const to = spec.log ? Math.log10 : (v) => v, back = spec.log ? (v) => 10 ** v : (v) => v;
    const step = spec.step ?? (to(spec.max) - to(spec.min)) / 200;
    const slider = make("input", {id, type: "range"});
    Object.assign(slider, {min: to(spec.min), max: to(spec.max), step: spec.step ?? "any"});
    const shown = make("output", {htmlFor: id});
    const value = () => Number(back(Number(slider.value)).toPrecision(spec.step ? 12 : 3));
    const show = () => { shown.textContent = value(); slider.setAttribute("aria-valuetext", value()); };
    const set = (x) => { slider.value = to(x); show(); };
    slider.addEventListener("input", () => { show(); changed(); });
    slider.addEventListener("keydown", (event) => { // without a step a key would move it by 1
      const way = {ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1}[event.key];
      if (!way || spec.step) return;
      event.preventDefault();
      slider.value = Number(slider.value) + way * step;
      slider.dispatchEvent(new Event("input"));
    });
    set(spec.value);
    return {row: make("div", {}, label, slider, shown), value, set, reset: () => set(spec.value)};
  }

  function short(error, label) {
    const deep = "the function calls itself without an end";
    const lines = error.trim().replace("pystack exhausted", deep).split("\n"), last = lines.at(-1);
    const own = lines.filter((line) => line.includes('"your code"')).at(-1);
    if (own) return `line ${own.match(/line (\d+)/)?.[1]}: ${last}`;
    return lines[0].startsWith("Traceback") ? `after ${label} had run: ${last}` : last;
  }

  /* A cell. A text from a link runs only after Run has been pressed. */
  function build(cell) {
    const given = JSON.parse(cell.querySelector(".live-data").textContent);
    const picture = cell.querySelector(".live-picture"), printed = cell.querySelector(".live-printed");
    const status = make("span", {className: "live-status"}), checks = make("ul", {className: "live-checks"});
    const spoken = make("span", {className: "live-spoken visually-hidden"}); // what a picture shows
    for (const one of [status, spoken]) one.setAttribute("role", "status");
    let running = false, again = false, foreign = false;

    async function go() {
      if (running) { again = true; return; }
      running = true;
      cell.setAttribute("aria-busy", "true");
      const began = performance.now();
      do {
        again = false;
        const values = Object.fromEntries(Object.entries(rows).map(([name, row]) => [name, row.value()]));
        const {source, view, check, data, standard} = given, text = code ? code.area.value || "\n" : ""; // "" means: no editor
        show(await run(given, {source, view, check, data, standard, text, values}));
      } while (again);
      Object.assign(cell.dataset, {ms: Math.round(performance.now() - began),
        runs: Number(cell.dataset.runs ?? 0) + 1});
      cell.removeAttribute("aria-busy");
      running = false;
    }

    function show({error, picture: drawn, printed: text, checks: all = []}) {
      if (drawn) picture.innerHTML = drawn;
      picture.classList.toggle("live-old", Boolean(error));
      if (code) spoken.textContent = drawn ? picture.firstChild.getAttribute("aria-label") : "";
      printed.textContent = text ?? "";
      checks.replaceChildren(...all.map(([ok, sentence]) =>
        make("li", {className: ok ? "live-right" : "live-wrong"}, `${ok ? "✓" : "✗"} ${sentence}`)));
      status.classList.toggle("live-error", Boolean(error));
      const held = all.filter(([ok]) => ok).length;
      if (all.length) window.progress.note(given.source, {held, of: all.length});
      status.textContent = error ? short(error, given.label)
        : all.length ? `${held} of ${all.length} hold` : "";
    }

    const press = () => { foreign = false; reset.disabled = false; return go(); };
    const changed = () => {
      reset.disabled = false;
      if (foreign) status.textContent = "Read the code of the link, then press Run.";
      else go();
    };
    const reset = make("button", {type: "button", disabled: true}, "Reset");
    reset.onclick = () => {
      foreign = false;
      code?.set(given.text);
      Object.values(rows).forEach((row) => row.reset());
      code?.area.dispatchEvent(new Event("live-reset"));
      if (given.view) go(); else show({});
    };
    const code = given.play ? null : editor(cell, given, press);
    const rows = Object.fromEntries(Object.entries(given.controls).map(
      ([name, spec]) => [name, control(name, spec, changed)]));
    const bar = make("div", {className: "live-bar"});
    if (code) {
      code.area.addEventListener("input", () => { reset.disabled = false; });
      const play = make("button", {type: "button", onclick: press, title: "Ctrl+Enter"},
        given.check ? "Check" : "Run");
      bar.append(play, reset, status, spoken);
      cell.querySelector(".live-editor").after(bar, checks);
    }
    const panel = make("div", {className: "live-controls"}, ...Object.values(rows).map((row) => row.row));
    if (given.play) picture.after(panel); else picture.before(panel);
    if (given.play) animate(cell, given.controls[given.play], rows[given.play], go, bar, status);
    if (cell.closest(".live-gallery")) {
      remember(given, code, bar, reset, (why) => { foreign = true; status.textContent = why; });
    }
    new IntersectionObserver((seen, observer) => { // the engine comes when a cell is in view
      if (!seen.some((one) => one.isIntersecting)) return;
      observer.disconnect();
      ready().catch(() => {});
    }).observe(cell);
  }

  function animate(cell, {min, max, step}, row, go, bar, status) {
    let playing = false, visible = false, timer;
    const button = make("button", {type: "button"});
    const turn = (on) => {
      playing = on;
      button.textContent = on ? "Pause" : "Play";
      clearTimeout(timer);
      if (on) timer = setTimeout(next, 400);
    };
    async function next() {
      if (visible && !document.hidden) {
        row.set(row.value() + step > max ? min : row.value() + step);
        await go();
      }
      if (playing) timer = setTimeout(next, 400);
    }
    button.onclick = () => turn(!playing);
    row.row.addEventListener("pointerdown", () => turn(false));
    row.row.addEventListener("keydown", () => turn(false));
    bar.append(button, status);
    row.row.before(bar);
    new IntersectionObserver((seen) => { visible = seen.at(-1).isIntersecting; }).observe(cell);
    turn(!still.matches);
  }

  /* The playground keeps changes in the browser, and shares them in the address's fragment. */
  function remember({source, text}, code, bar, reset, distrust) {
    const key = `fedlab-live ${source}`, keep = (value) => {
      try { value === null ? localStorage.removeItem(key) : localStorage.setItem(key, value); }
      catch { /* a browser may forbid storage: then changes last as long as the page */ }
    };
    const encode = (t) => btoa(String.fromCharCode(...new TextEncoder().encode(t)))
      .replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
    const decode = (t) => new TextDecoder().decode(Uint8Array.from(
      atob(t.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0)));
    let kept = null;
    try { kept = localStorage.getItem(key); } catch { /* as above */ }
    const receive = () => {
      const [name, shared] = location.hash.slice(1).split("=");
      if (name !== source || !shared) return;
      try { code.set(decode(shared)); } catch { return; }
      reset.disabled = false;
      distrust("This code came with the link. Read it, then press Run.");
      code.area.closest(".live-cell").scrollIntoView();
    };
    if (kept !== null && kept !== text) { code.set(kept); reset.disabled = false; }
    receive();
    addEventListener("hashchange", receive);
    code.area.addEventListener("input", () => keep(code.area.value));
    code.area.addEventListener("live-reset", () => keep(null));
    const share = make("button", {type: "button", onclick: async () => {
      history.replaceState(null, "", `#${source}=${encode(code.area.value)}`);
      const said = await navigator.clipboard?.writeText(location.href).then(() => "copied", () => "");
      share.textContent = said ? "Link copied" : "The address has it";
      setTimeout(() => { share.textContent = "Share"; }, 2000);
    }}, "Share");
    reset.after(share);
  }

  document.querySelectorAll(".live-cell").forEach(build);
})();
