// Makes lunr's index of the posts in a file, a list of [title, text], with its Japanese plug-in, and prints it.
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";

const require = createRequire(import.meta.url);
const lunr = require("lunr");
for (const part of ["lunr.stemmer.support", "tinyseg", "lunr.ja"]) require(`lunr-languages/${part}`)(lunr);
const posts = JSON.parse(readFileSync(process.argv[2], "utf8"));
const index = lunr(function () {
  this.use(lunr.ja);
  this.field("title");
  this.field("text");
  posts.forEach(([title, text], at) => this.add({ id: at, title, text }));
});
console.log(JSON.stringify(index));
