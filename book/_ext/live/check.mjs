// Runs one cell in Node as the page's worker would: node check.mjs micropython.mjs <message
import {readFileSync} from "node:fs";
import {pathToFileURL} from "node:url";

const {worker, message} = JSON.parse(readFileSync(0, "utf8"));
const {loadMicroPython} = await import(pathToFileURL(process.argv[2]));
globalThis.self = globalThis;
const answer = new Function("loadMicroPython", worker + "; return answer;")(loadMicroPython);
process.stdout.write(JSON.stringify(await answer(message)));
