// Makes Markdown of every body in a file, a JSON text on each line, with turndown, and prints how many.
import { readFileSync } from "node:fs";
import TurndownService from "turndown";

const service = new TurndownService();
const bodies = readFileSync(process.argv[2], "utf8").trimEnd().split("\n").map((line) => JSON.parse(line));
console.log(bodies.filter((body) => service.turndown(body) !== null).length);
