"use strict";
(function () {
  const END = "\ue001", BEYOND = "\ue000", PAGE = 20, PRIVATE = 1, GONE = 2, KEPT_CHUNKS = 240, LATIN_PAIRS = 0xe100, SEVERAL = "_";
  const HIRAGANA = 0x3041, HIRAGANA_LETTERS = 95, KANA_PAIRS = 0xe700, KANA_CODES = 0x1000;
  const LATIN = "0123456789abcdefghijklmnopqrstuvwxyz";
  const LETTERS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_";
  const SPACES = /[\t-\r \x1c-\x1f\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+/g;
  const CLUSTER = /[^][\p{M}\uff9e\uff9f\u1160-\u11ff]*/gu;
  const root = document.body.dataset.root;
  const form = document.getElementById("search");
  const input = form.elements.q;
  const status = document.getElementById("status");
  const facets = document.getElementById("facets");
  const year = facets.querySelector("select[name=year]");
  const category = facets.querySelector("select[name=category]");
  const results = document.getElementById("results");
  const more = document.getElementById("more");
  const chunks = new Map(), shards = new Map();
  let words = {}, folds = new Map(), unusual = null, index = null;
  let run = 0, hits = [], limit = PAGE, wanted = [];

  function fold(text) {
    let key = text.normalize("NFKC").toLowerCase();
    if (unusual.test(key)) key = [...key].map(function (each) { return folds.get(each) ?? each; }).join("");
    return key.replace(SPACES, " ");
  }

  /** What is looked for: words with spaces between them, or phrases in quotation marks. */
  function parsed(query) {
    const found = [];
    for (const [, phrase, word] of fold(query).matchAll(/"([^"]+)"?|([^\s"]+)/g)) found.push(phrase ? phrase.trim() : word);
    return found.filter(Boolean);
  }

  async function textsOf(name) {
    if (chunks.has(name)) return chunks.get(name);
    const records = (await blogLoad("texts", name, "texts-" + name + ".js")).map(function (each) {
      const [page, date, title, group, flags, text, comments] = each;
      const parts = [text, title];
      for (const [, who, said] of comments) parts.push(said, who);
      return { page, date, title, group, flags, text, comments, key: parts.map(fold).join(END) + END };
    });
    if (chunks.size >= KEPT_CHUNKS) chunks.delete(chunks.keys().next().value);
    chunks.set(name, records);
    return records;
  }

  /** What to ask a shard about a word: its pairs of characters, or the only character it has. */
  function pairs(word) {
    const chars = [...word].map(function (each) { return each.length > 1 ? BEYOND : each; });
    if (chars.length === 1) return chars;
    const found = chars.slice(1).map(function (each, at) { return chars[at] + each; });
    for (let at = 0; at + 2 < chars.length; at++) {
      const [first, second, third] = chars.slice(at, at + 3).map(function (each) { return LATIN.indexOf(each); });
      if (Math.min(first, second, third) >= 0) {
        found.push(String.fromCharCode(LATIN_PAIRS + first * LATIN.length + second) + chars[at + 2]);
      }
      const kana = chars.slice(at, at + 3).map(function (each) { return each.charCodeAt(0) - HIRAGANA; });
      if (Math.min(...kana) >= 0 && Math.max(...kana) < HIRAGANA_LETTERS) {
        found.push(String.fromCharCode(KANA_PAIRS + (kana[0] * HIRAGANA_LETTERS + kana[1]) % KANA_CODES) + chars[at + 2]);
      }
    }
    return found;
  }

  /** Which chunks of a shard may hold a word: bits. */
  function candidates(shard, word) {
    let all = 2 ** 30 - 1;
    for (const [first, second] of pairs(word)) {
      const line = shard.indexOf("\n" + first) + 2;
      const end = line < 2 ? 0 : shard.indexOf("\n", line);
      let bits = 0;
      for (let place = line; place < end;) {
        const several = shard[place + 1] === SEVERAL;
        if (!second || shard[place] === second) {
          let mask = several ? 0 : 1 << LETTERS.indexOf(shard[place + 1]);
          for (let at = 2; several && at < 7; at++) mask = mask * 64 + LETTERS.indexOf(shard[place + at]);
          bits |= mask;
          if (second) break;
        }
        place += several ? 7 : 2;
      }
      all &= bits;
      if (!all) break;
    }
    return all;
  }

  /** The names of the chunks that may hold all words, the newest first. */
  async function* places(sought) {
    if (!index.shards.length) {
      for (let at = index.chunks.length - 1; at >= 0; at--) yield index.chunks[at][0];
      return;
    }
    for await (const [[from, to, name], shard] of ahead(index.shards.toReversed(), shardOf)) {
      shards.set(name, shard);
      let bits = 2 ** 30 - 1;
      for (const word of sought) bits &= candidates(shard, word);
      for (let at = to - 1; at >= from; at--) if (bits & (1 << (at - from))) yield index.chunks[at][0];
    }
  }

  async function shardOf([, , name]) {
    return shards.get(name) ?? blogLoad("pairs", name, "pairs-" + name + ".js");
  }

  /** Each thing with what was loaded for it, in their order, loading more and more at a time. */
  async function* ahead(things, load) {
    let batch = [], most = 1;
    for await (const thing of things) {
      batch.push(thing);
      if (batch.length < most) continue;
      const loaded = await Promise.all(batch.map(load));
      for (let at = 0; at < batch.length; at++) yield [batch[at], loaded[at]];
      batch = [];
      most = Math.min(12, most * 2);
    }
    const loaded = await Promise.all(batch.map(load));
    for (let at = 0; at < batch.length; at++) yield [batch[at], loaded[at]];
  }

  async function* found(sought) {
    const matches = function (record) { return sought.every(function (word) { return record.key.includes(word); }); };
    for await (const [, records] of ahead(places(sought), textsOf)) {
      for (let at = records.length - 1; at >= 0; at--) if (matches(records[at])) yield records[at];
    }
    if (index.orphans) for (const record of await textsOf("orphans")) if (matches(record)) yield record;
  }

  async function search(query) {
    const mine = ++run;
    wanted = parsed(query);
    hits = [];
    limit = PAGE;
    year.value = category.value = "";
    results.replaceChildren();
    more.hidden = facets.hidden = true;
    status.textContent = "";
    if (!wanted.length) return;
    status.textContent = words.searching;
    results.dataset.state = "busy";
    let drawn = 0;
    try {
      for await (const record of found(wanted)) {
        if (mine !== run) return;
        hits.push(record);
        if (hits.length === PAGE || performance.now() - drawn > 300 && hits.length > PAGE) {
          draw(false);
          drawn = performance.now();
        }
      }
    } catch {
      if (mine === run) status.textContent = words.load_error;
      return;
    }
    if (mine === run) draw(true);
  }

  function chosen() {
    return hits.filter(function (hit) {
      return (year.value === "" || yearOf(hit) === year.value) && (category.value === "" || "=" + hit.group === category.value);
    });
  }

  function yearOf(hit) {
    return hit.date.slice(0, 4) || "-";
  }

  function counted(select, names, label) {
    const value = select.value;
    const counts = new Map();
    for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
    const rows = [...counts].sort(function (a, b) { return select === year ? (a[0] < b[0] ? 1 : -1) : b[1] - a[1]; });
    select.replaceChildren(new Option(words.all + " (" + names.length + ")", ""));
    for (const [name, number] of rows) select.append(new Option(label(name) + " (" + number + ")", name));
    select.value = value;
  }

  function draw(done) {
    const list = chosen();
    const shown = list.slice(0, limit);
    for (let at = results.children.length; at < shown.length; at++) results.append(drawn(shown[at]));
    const count = words.results.replace("%d", list.length.toLocaleString());
    status.textContent = done ? (list.length ? count : words.no_results) : count + "… " + words.searching;
    more.hidden = list.length <= limit;
    facets.hidden = !hits.length;
    if (done) {
      const byCategory = hits.filter(function (hit) { return category.value === "" || "=" + hit.group === category.value; });
      const byYear = hits.filter(function (hit) { return year.value === "" || yearOf(hit) === year.value; });
      counted(year, byCategory.map(yearOf), function (name) { return name === "-" ? words.undated : name; });
      counted(category, byYear.map(function (hit) { return "=" + hit.group; }), function (name) { return name.slice(1) || words.uncategorised; });
      results.dataset.state = "done";
      results.dataset.count = hits.length;
    }
  }

  function drawn(record) {
    const item = document.createElement("li");
    const link = document.createElement("a");
    const when = document.createElement("time");
    item.dataset.item = "";
    link.href = root + record.page;
    marked(link, record.title || (record.page.startsWith("comments/") ? words.orphans : words.untitled));
    when.textContent = record.date;
    when.dateTime = record.date;
    item.append(when, link);
    if (record.group) item.append(labelled("category", record.group));
    if (record.flags & PRIVATE) item.append(labelled("badge private", words.private));
    if (record.flags & GONE) item.append(labelled("badge gone", words.gone));
    if (!record.comments.length || wanted.some(function (word) { return fold(record.text).includes(word); })) {
      item.append(excerpt(record.text));
    }
    let left = 2;
    for (const [id, who, said] of record.comments) {
      const key = fold(said) + END + fold(who);
      if (!left || !wanted.some(function (word) { return key.includes(word); })) continue;
      left--;
      const note = excerpt(said);
      const source = document.createElement("a");
      source.href = root + record.page + "#comment-" + id;
      source.className = "who";
      source.textContent = words.in_comment + " ";
      marked(source, who);
      note.prepend(source, " ");
      item.append(note);
    }
    return item;
  }

  function labelled(name, text) {
    const label = document.createElement("span");
    label.className = name;
    label.textContent = text;
    return label;
  }

  function excerpt(text) {
    const places = folded(text, 100000);
    const first = Math.min(...wanted.map(function (word) { return places.key.indexOf(word); }).filter(function (at) { return at >= 0; }), places.key.length);
    const middle = first < places.key.length ? places.starts[first] : 0;
    const start = Math.max(0, middle - 36);
    const end = Math.min(text.length, middle + 110);
    const paragraph = document.createElement("p");
    if (start) paragraph.append("…");
    marked(paragraph, text.slice(start, end).replace(/^[\udc00-\udfff]|[\ud800-\udbff]$/g, ""));
    if (end < text.length) paragraph.append("…");
    return paragraph;
  }

  /** A folded text with the places its characters come from. */
  function folded(text, most) {
    const starts = [], ends = [];
    let key = "";
    for (const cluster of text.slice(0, most).matchAll(CLUSTER)) {
      for (const unit of fold(cluster[0]).split("")) {
        if (unit === " " && key.endsWith(" ")) continue;
        key += unit;
        starts.push(cluster.index);
        ends.push(cluster.index + cluster[0].length);
      }
    }
    return { key, starts, ends };
  }

  /** Appends a text with the words in it marked. */
  function marked(parent, text) {
    const places = folded(text, text.length);
    const spans = [];
    for (const word of wanted) {
      for (let at = places.key.indexOf(word); at >= 0; at = places.key.indexOf(word, at + word.length)) {
        spans.push([places.starts[at], places.ends[at + word.length - 1]]);
      }
    }
    let end = 0;
    for (const [from, to] of spans.sort(function (a, b) { return a[0] - b[0] || b[1] - a[1]; })) {
      if (from < end) continue;
      const mark = document.createElement("mark");
      mark.textContent = text.slice(from, to);
      parent.append(text.slice(end, from), mark);
      end = to;
    }
    parent.append(text.slice(end));
  }

  function remember(query) {
    try {
      history.replaceState(null, "", query ? "?q=" + encodeURIComponent(query) : location.pathname);
    } catch {
      // The address stays as it is where pages from a folder may not change theirs.
    }
  }

  function again() {
    remember(input.value.trim());
    return search(input.value);
  }

  let timer = 0;
  input.addEventListener("input", function (event) {
    clearTimeout(timer);
    if (!event.isComposing) timer = setTimeout(again, 160);
  });
  input.addEventListener("compositionend", function () { clearTimeout(timer); timer = setTimeout(again, 160); });
  form.addEventListener("submit", function (event) { event.preventDefault(); clearTimeout(timer); again(); });
  more.addEventListener("click", function () { limit += PAGE; draw(true); });
  for (const select of [year, category]) {
    select.addEventListener("change", function () { limit = PAGE; results.replaceChildren(); draw(true); });
  }

  async function start() {
    try {
      const loaded = await Promise.all([
        blogLoad("words", "", "words.js"), blogLoad("folds", "", "folds.js"), blogLoad("index", "", "search.js"),
      ]);
      words = loaded[0];
      folds = new Map(Object.entries(loaded[1]));
      unusual = new RegExp("[" + [...folds.keys()].join("") + "]", "u");
      index = loaded[2];
    } catch (error) {
      status.textContent = String(error);
      return;
    }
    document.documentElement.dataset.search = "ready";
    input.value = new URLSearchParams(location.search).get("q") ?? "";
    if (input.value) search(input.value);
  }
  start();
})();
