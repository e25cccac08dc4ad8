"use strict";
/* Runs cells in MicroPython: in the page's worker, and in Node when the book is built. */
const engine = (async () => {/*ENGINE*/; return loadMicroPython;})();
const RUN = "/*RUN*/"; // run.py
const LINES = 200, WIDTH = 1000; // of printed text
let python, live, printed = [];

async function start(wasm) {
  const options = {heapsize: 16 * 1024 * 1024, linebuffer: true, stdout: print};
  if (wasm) { // the engine asks for one file
    self.fetch = async () => new Response(wasm, {headers: {"Content-Type": "application/wasm"}});
    options.url = "https://book.invalid/micropython.wasm";
  }
  python = await (await engine)(options);
  if (wasm) delete self.fetch;
  python.FS.mkdir("/book");
  python.FS.mkdir("/data");
  python.runPython('import sys\nsys.path.insert(0, "/book")\n' + RUN);
  live = python.globals.get("_live");
}

function print(line) {
  if (printed.length < LINES) printed.push(line.slice(0, WIDTH));
  else if (printed.length === LINES) printed.push("…");
}

function write(name, text) {
  const parts = name.split("."), path = (n) => "/book/" + parts.slice(0, n).join("/");
  for (let n = 1; n < parts.length; n++) {
    if (python.FS.analyzePath(path(n)).exists) continue;
    python.FS.mkdir(path(n));
    python.FS.writeFile(path(n) + "/__init__.py", "");
  }
  python.FS.writeFile(path(parts.length) + ".py", text);
}

async function answer({wasm, modules, data, request}) {
  const began = performance.now(), ms = () => performance.now() - began;
  printed = [];
  try {
    if (!python) await start(wasm);
    for (const [name, text] of Object.entries(modules ?? {})) write(name, text);
    for (const [name, text] of Object.entries(data ?? {})) {
      python.FS.writeFile("/data/" + name.split("/").at(-1), text);
    }
    const result = request ? JSON.parse(live(JSON.stringify(request))) : {};
    return {...result, printed: printed.join("\n"), ms: ms()};
  } catch (error) {
    const broken = error.name !== "PythonError"; // the engine itself: it may not go on
    return {error: String(error.message || error), broken, printed: printed.join("\n"), ms: ms()};
  }
}

self.onmessage = ({ports: [port]}) => {
  port.onmessage = async ({data}) => port.postMessage(await answer(data));
};
