// Makes Markdown of every body in a file, a JSON text on each line, with turndown, and prints how many.
// With a second file, it writes the Markdown to that, with turndown's plug-in for tables and what else GFM has.
import { readFileSync, writeFileSync } from "node:fs";
import TurndownService from "turndown";
import { gfm } from "turndown-plugin-gfm";

const [file, into] = process.argv.slice(2);
const service = new TurndownService();
if (into) service.use(gfm);
const bodies = readFileSync(file, "utf8").trimEnd().split("\n").map((line) => JSON.parse(line));
const made = bodies.map((body) => service.turndown(body));
if (into) writeFileSync(into, made.map((text) => JSON.stringify(text)).join("\n"));
console.log(made.filter((text) => text !== null).length);
