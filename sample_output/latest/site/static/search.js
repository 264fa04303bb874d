"use strict";
(function () {
  const END = "\ue001", BEYOND = "\ue000", PAGE = 20, PRIVATE = 1, GONE = 2, KEPT_CHUNKS = 240, MOST_NAMES = 300, LATIN_PAIRS = 0xe100, SEVERAL = "_";
  const HIRAGANA = 0x3041, KATAKANA = 0x30a1, KANA = 95, KANA_PAIRS = 0xe700, KANA_CODES = 0x1000, EVERY = 2 ** 30 - 1;
  const LATIN = "0123456789abcdefghijklmnopqrstuvwxyz";
  const LETTERS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_";
  const TITLE_RANK = 3, TEXT_RANK = 2, COMMENT_RANK = 1, RANK_WORTH = 1e6;
  const DAY = new Intl.DateTimeFormat(document.documentElement.lang === "ja" ? "ja" : "en-GB", { dateStyle: "long", timeZone: "UTC" });
  const { fold, parsed, spans } = blogFolding;
  const root = document.body.dataset.root;
  const form = document.getElementById("search");
  const input = form.elements.q;
  const status = document.getElementById("status");
  const facets = document.getElementById("facets");
  const [year, category, sort] = ["year", "category", "sort"].map(function (name) { return facets.querySelector(`[name=${name}]`); });
  // The choices that only some blogs have: which of an entry's names each one is about, and the name of none.
  const more = [["blog", "blogs", ""], ["tag", "tags", "no_tag"], ["author", "authors", "no_author"], ["kind", "kinds", ""]].flatMap(function ([name, of, none]) {
    const select = facets.querySelector(`[name=${name}]`);
    return select ? [{ name, select, of, none }] : [];
  });
  const exact = pane("results", "more"), similar = pane("similar-results", "similar-more");
  const chunks = new Map(), shards = new Map();
  let words = {}, index = null, run = 0, wanted = [], done = true, place = 0;

  /** One of the two lists: its hits, how many of them may be shown, and those that are. */
  function pane(list, more) {
    return { list: document.getElementById(list), more: document.getElementById(more), hits: [], limit: PAGE, drawn: [] };
  }

  async function textsOf(name) {
    if (chunks.has(name)) return chunks.get(name);
    const records = (await blogLoad("texts", name, "texts-" + name + ".js")).map(function (each) {
      const [page, date, title, group, flags, text, comments, labels] = each;
      const [groups, tags, author, kind, audience, blogs = []] = labels ?? [[group], [], "", "", ""];
      const parts = [text, title];
      for (const [, who, said] of comments) parts.push(said, who);
      if (labels) parts.push([...groups, ...tags, author].join("\n"));
      return {
        page, date, title, flags, text, comments, groups, tags, audience, labelled: Boolean(labels),
        authors: [author], kinds: [kind || "post"], blogs: blogs.map(String), key: parts.map(fold).join(END) + END,
      };
    });
    if (chunks.size >= KEPT_CHUNKS) chunks.delete(chunks.keys().next().value);
    chunks.set(name, records);
    return records;
  }

  /** In which chunks of a shard a pair of characters is, or a character alone: bits. */
  function chunksWith(shard, first, second) {
    const { text, lines } = shard;
    if (!lines.has(first)) lines.set(first, text.indexOf("\n" + first) + 2);
    const line = lines.get(first);
    const end = line < 2 ? 0 : text.indexOf("\n", line);
    let bits = 0;
    for (let at = line; at < end;) {
      const several = text[at + 1] === SEVERAL;
      if (!second || text[at] === second) {
        let mask = several ? 0 : 1 << LETTERS.indexOf(text[at + 1]);
        for (let letter = 2; several && letter < 7; letter++) mask = mask * 64 + LETTERS.indexOf(text[at + letter]);
        bits |= mask;
        if (second) break;
      }
      at += several ? 7 : 2;
    }
    return bits;
  }

  /** The character that stands for two Latin letters or two kana of a kind where a third follows, else nothing. */
  function codeOf(first, second) {
    const latin = [first, second].map(function (each) { return LATIN.indexOf(each); });
    if (Math.min(...latin) >= 0) return String.fromCharCode(LATIN_PAIRS + latin[0] * LATIN.length + latin[1]);
    const start = first.charCodeAt(0) < KATAKANA ? HIRAGANA : KATAKANA;
    const kana = [first, second].map(function (each) { return each.charCodeAt(0) - start; });
    if (Math.min(...kana) < 0 || Math.max(...kana) >= KANA) return "";
    return String.fromCharCode(KANA_PAIRS + (kana[0] * KANA + kana[1]) % KANA_CODES);
  }

  /** Which chunks of a shard may hold a word: bits. Each unit is reached from each way to write the one before it. */
  function candidates(shard, units) {
    const [only] = units;
    let ends = only.forms.map(function (form) { return { form, before: "", bits: EVERY }; });
    const marked = function (form) { return chunksWith(shard, form, "ー") | chunksWith(shard, form, "~"); };
    for (let at = 1; at < units.length && ends.length; at++) {
      const { long } = units[at - 1], reached = new Map();
      const reach = function (form, before, bits) {
        const known = reached.get(form + before);
        if (known) known.bits |= bits;
        else if (bits) reached.set(form + before, { form, before, bits });
      };
      for (const form of units[at].forms) {
        for (const last of ends) {
          if (long !== "+") {
            let bits = last.bits & chunksWith(shard, last.form, form);
            if (bits && last.before && codeOf(last.form, form)) bits &= chunksWith(shard, codeOf(last.before, last.form), form);
            reach(form, codeOf(last.form, form) && last.form, bits);
          }
          if (long) reach(form, "", last.bits & marked(last.form) & (chunksWith(shard, "ー", form) | chunksWith(shard, "~", form)));
        }
      }
      ends = [...reached.values()];
    }
    const { long } = units.at(-1);
    return ends.reduce(function (all, { form, bits }) {
      if (long === "+") return all | (bits & marked(form));
      return all | (units.length > 1 ? bits : chunksWith(shard, form, ""));
    }, 0);
  }

  /** Which chunks of a shard may hold all words: bits. */
  function mayHold(shard, loosely) {
    return wanted.reduce(function (bits, word) {
      return bits && bits & candidates(shard, loosely && word.pattern ? word.units : word.plain);
    }, EVERY);
  }

  /** The numbers of the chunks that may hold all words, the newest first; then of those with similar spellings only. */
  async function* places(loosely) {
    if (!index.shards.length) {
      if (!loosely) for (let at = index.chunks.length - 1; at >= 0; at--) yield at;
      return;
    }
    for await (const [[from, to], shard] of ahead(index.shards.toReversed(), shardOf)) {
      const bits = mayHold(shard, false);
      const asked = loosely ? mayHold(shard, true) & ~bits : bits;
      for (let at = to - 1; at >= from; at--) if (asked & (1 << (at - from))) yield at;
    }
  }

  function shardOf([, , name]) {
    if (!shards.has(name)) {
      const shard = blogLoad("pairs", name, "pairs-" + name + ".js").then(function (text) { return { text, lines: new Map() }; });
      shards.set(name, shard);
      shard.catch(function () { shards.delete(name); });
    }
    return shards.get(name);
  }

  /** Reads all shards, from a disk, while the words are still to be typed; over a network only what is asked for. */
  async function prepare() {
    if (location.protocol === "file:") for await (const _ of ahead(index.shards.toReversed(), shardOf));
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

  /** The records to look into, each with its place by date. */
  async function* records(loosely) {
    for await (const [at, texts] of ahead(places(loosely), function (at) { return textsOf(index.chunks[at][0]); })) {
      for (let number = texts.length - 1; number >= 0; number--) yield [texts[number], at * 1000 + number];
    }
    if (index.orphans && !loosely) {
      const texts = await textsOf("orphans");
      for (let number = 0; number < texts.length; number++) yield [texts[number], -1 - number];
    }
  }

  function holds(word, text, loosely) {
    return loosely && word.pattern ? text.search(word.pattern) >= 0 : text.includes(word.key);
  }

  async function search() {
    const mine = ++run;
    wanted = parsed(typed());
    for (const word of wanted) word.plain = [...word.key].map(function (each) { return { forms: [each.length > 1 ? BEYOND : each], long: "" }; });
    for (const each of [exact, similar]) each.hits = [];
    done = !wanted.length;
    draw();
    if (done) return;
    const loose = wanted.some(function (word) { return word.pattern; });
    let drawn = 0;
    try {
      for (const loosely of loose ? [false, true] : [false]) {
        for await (const [record, at] of records(loosely)) {
          if (mine !== run) return;
          const holding = function (alike) { return wanted.every(function (word) { return holds(word, record.key, alike); }); };
          const found = !loosely && holding(false) ? exact : loose && holding(true) ? similar : null;
          if (!found) continue;
          found.hits.push({ record, place: at, loosely: found === similar });
          const count = exact.hits.length + similar.hits.length;
          if (exact.hits.length === exact.limit || count === exact.limit || count > exact.limit && performance.now() - drawn > 300) {
            draw();
            drawn = performance.now();
          }
        }
      }
    } catch {
      if (mine === run) status.textContent = words.load_error;
      return;
    }
    if (mine !== run) return;
    done = true;
    draw();
  }

  /** A million for the best rank of each word, and one for each place: as the command line counts. */
  function score(hit) {
    const parts = hit.record.key.split(END);
    let ranks = 0, places = 0;
    for (const { key, pattern } of wanted) {
      let best = 0;
      parts.forEach(function (part, at) {
        const count = hit.loosely && pattern ? (part.match(pattern) ?? []).length : part.split(key).length - 1;
        places += count;
        // The labels of an entry come last, before the end of the key.
        const own = !at || hit.record.labelled && at === parts.length - 2;
        if (count) best = Math.max(best, at === 1 ? TITLE_RANK : own ? TEXT_RANK : COMMENT_RANK);
      });
      ranks += best;
    }
    return RANK_WORTH * ranks + Math.min(places, RANK_WORTH - 1);
  }

  function yearOf(hit) {
    return hit.record.date.slice(0, 4) || "-";
  }

  function inYear(hit) { return !year.value || yearOf(hit) === year.value; }
  function inCategory(hit) { return !category.value || hit.record.groups.includes(category.value.slice(1)); }
  function namesOf(hit, { of }) { return hit.record[of].length ? hit.record[of] : [""]; }
  /** Whether a hit fits all further choices but one. */
  function fits(hit, but) {
    return more.every(function (each) { return each === but || !each.select.value || namesOf(hit, each).includes(each.select.value.slice(1)); });
  }

  /** The hits that were asked for, in their order. */
  function chosen(hits) {
    const best = sort.value === "best";
    return hits.filter(function (hit) {
      if (best) hit.score ??= score(hit);
      return inYear(hit) && inCategory(hit) && fits(hit);
    }).sort(function (a, b) { return best && b.score - a.score || b.place - a.place; });
  }

  function valueOf(name) { return "=" + name; }

  function counted(select, hits, namesIn, label) {
    const names = hits.flatMap(namesIn);
    const value = select.value;
    const counts = new Map(value ? [[value, 0]] : []);
    for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
    const rows = [...counts].sort(function (a, b) { return select === year ? (a[0] < b[0] ? 1 : -1) : b[1] - a[1]; });
    select.replaceChildren(new Option(words.all + " (" + blogNumber(hits.length) + ")", ""));
    for (const [name, number] of rows.filter(function ([name], at) { return at < MOST_NAMES || name === value; })) select.append(new Option(label(name) + " (" + blogNumber(number) + ")", name));
    select.value = value;
  }

  function draw() {
    const all = [...exact.hits, ...similar.hits];
    const [found, others] = [exact, similar].map(function (each) {
      const list = chosen(each.hits);
      const shown = list.slice(0, each.limit);
      const same = shown.findIndex(function (hit, at) { return hit !== each.drawn[at]; });
      const kept = same < 0 ? shown.length : same;
      while (each.list.children.length > kept) each.list.lastChild.remove();
      each.list.append(...shown.slice(kept).map(item));
      each.drawn = shown;
      each.more.hidden = list.length <= each.limit;
      return list.length;
    });
    const count = blogCounted(words.results, found);
    const alike = blogCounted(words.similar, others);
    const section = similar.list.parentElement;
    section.hidden = !others;
    section.querySelector("h2").textContent = alike;
    facets.hidden = !all.length;
    const told = found || all.length && !others ? count : all.length ? "" : words.no_results;
    status.textContent = !wanted.length ? "" : done ? told : (all.length ? count + "… " : "") + words.searching;
    if (done && others) {
      const link = document.createElement("a");
      link.href = "#similar";
      link.textContent = alike;
      status.append(told && " · ", link);
    }
    if (done) {
      const fitting = all.filter(function (hit) { return fits(hit); });
      counted(year, fitting.filter(inCategory), yearOf, function (name) { return name === "-" ? words.undated : name; });
      counted(category, fitting.filter(inYear), function (hit) { return hit.record.groups.map(valueOf); }, function (name) { return name.slice(1) || words.uncategorised; });
      for (const each of more) {
        const hits = all.filter(function (hit) { return inYear(hit) && inCategory(hit) && fits(hit, each); });
        counted(each.select, hits, function (hit) { return namesOf(hit, each).map(valueOf); }, function (name) {
          if (each.name === "blog") return words.blogs[name.slice(1) - 1]?.[0] ?? "";
          return words["kind_" + (each.none ? "" : name.slice(1))] ?? (name.slice(1) || words[each.none] || "");
        });
      }
      exact.list.dataset.count = exact.hits.length;
      exact.list.dataset.similar = similar.hits.length;
    }
    exact.list.dataset.state = done ? "done" : "busy";
    if (place && (done || document.documentElement.scrollHeight - innerHeight >= place)) {
      scrollTo(0, place);
      place = 0;
    }
  }

  function item(hit) {
    const { record, loosely } = hit;
    const row = document.createElement("li");
    const link = document.createElement("a");
    const when = document.createElement("time");
    const address = root + record.page + "?q=" + encodeURIComponent(typed());
    row.dataset.item = "";
    link.href = address;
    marked(link, record.title || (record.page.startsWith("comments/") ? words.orphans : words.untitled), loosely);
    when.textContent = record.date && DAY.format(new Date(record.date));
    when.dateTime = record.date;
    row.append(when, link);
    for (const [name, colour] of record.blogs.map(function (number) { return words.blogs[number - 1]; })) row.append(labelled("blog c" + colour, name));
    for (const group of record.groups.filter(Boolean).slice(0, 5)) row.append(labelled("category", group));
    if (record.flags & PRIVATE) row.append(labelled("badge private", words.private));
    if (record.audience) row.append(labelled("badge private", words["audience_" + record.audience] ?? record.audience));
    if (record.flags & GONE) row.append(labelled("badge gone", words.gone));
    const speaks = function (...texts) {
      const key = texts.map(fold).join(END);
      return wanted.some(function (word) { return holds(word, key, loosely); });
    };
    if (!record.comments.length || speaks(record.text)) row.append(excerpt(record.text, loosely));
    for (const [id, who, said] of record.comments.filter(function ([, who, said]) { return speaks(said, who); }).slice(0, 2)) {
      const note = excerpt(said, loosely);
      const source = document.createElement("a");
      source.href = address + "#comment-" + id;
      source.className = "who";
      source.textContent = words.in_comment + " ";
      marked(source, who, loosely);
      note.prepend(source, " ");
      row.append(note);
    }
    return row;
  }

  function labelled(name, text) {
    const label = document.createElement("span");
    label.className = name;
    label.textContent = text;
    return label;
  }

  function excerpt(text, loosely) {
    const [[middle]] = [...spans(text.slice(0, 100000), wanted, loosely), [0]];
    const start = Math.max(0, middle - 36);
    const end = Math.min(text.length, middle + 110);
    const paragraph = document.createElement("p");
    if (start) paragraph.append("…");
    marked(paragraph, text.slice(start, end).replace(/^[\udc00-\udfff]|[\ud800-\udbff]$/g, ""), loosely);
    if (end < text.length) paragraph.append("…");
    return paragraph;
  }

  /** Appends a text with the words in it marked. */
  function marked(parent, text, loosely) {
    let end = 0;
    for (const [from, to] of spans(text, wanted, loosely)) {
      const mark = document.createElement("mark");
      mark.textContent = text.slice(from, to);
      parent.append(text.slice(end, from), mark);
      end = to;
    }
    parent.append(text.slice(end));
  }

  function typed() {
    return input.value.trim().replace(/\p{Cs}/gu, "\ufffd");
  }

  /** Keeps what is asked for in the address, and how far was read with it, for when the reader comes back. */
  function remember() {
    const asked = new URLSearchParams(location.search);
    const own = { q: typed(), year: year.value, category: category.value && category.value.slice(1), sort: sort.value };
    for (const { name, select } of more) own[name] = select.value;
    for (const [name, value] of Object.entries(own)) {
      if (value || name === "category" && category.value) asked.set(name, value);
      else asked.delete(name);
    }
    try {
      history.replaceState({ limits: [exact.limit, similar.limit], at: scrollY }, "", asked.size ? "?" + asked : location.pathname);
    } catch {
      // The address stays as it is where pages from a folder may not change theirs.
    }
  }

  function recall() {
    const asked = new URLSearchParams(location.search);
    input.value = asked.get("q") ?? "";
    sort.value = asked.get("sort") ?? "";
    for (const [select, value] of [[year, asked.get("year") ?? ""], [category, asked.has("category") ? "=" + asked.get("category") : ""]]) {
      select.append(new Option("", value));
      select.value = value;
    }
    for (const { name, select } of more) {
      const value = asked.get(name) ?? "";
      select.append(new Option("", value));
      select.value = value;
    }
    if (!sort.value) sort.value = "";
    [exact.limit, similar.limit] = history.state?.limits ?? [PAGE, PAGE];
    place = history.state?.at ?? 0;
  }

  function again() {
    exact.limit = similar.limit = PAGE;
    place = 0;
    remember();
    return search();
  }

  let timer = 0, scrolled = 0;
  function soon() {
    clearTimeout(timer);
    timer = setTimeout(again, 160);
  }
  input.addEventListener("input", function (event) {
    clearTimeout(timer);
    if (!event.isComposing) soon();
  });
  input.addEventListener("compositionend", soon);
  form.addEventListener("submit", function (event) {
    event.preventDefault();
    clearTimeout(timer);
    input.blur();
    again();
  });
  for (const each of [exact, similar]) {
    each.more.addEventListener("click", function () { each.limit += PAGE; draw(); remember(); });
    each.list.addEventListener("click", remember);
  }
  facets.addEventListener("change", function () { exact.limit = similar.limit = PAGE; draw(); remember(); });
  addEventListener("scroll", function () {
    clearTimeout(scrolled);
    scrolled = setTimeout(remember, 200);
  }, { passive: true });
  addEventListener("keydown", function (event) {
    if (event.key !== "Escape" || event.isComposing || !input.value || document.querySelector("dialog[open]") || event.target.closest?.("select")) return;
    event.preventDefault();
    input.value = year.value = category.value = "";
    for (const { select } of more) select.value = "";
    clearTimeout(timer);
    again();
    input.focus();
  });

  async function start() {
    try {
      [words, index] = await Promise.all([
        blogLoad("words", "", "words.js"), blogLoad("index", "", "search.js"), blogFolding.load(),
      ]);
    } catch (error) {
      status.textContent = String(error);
      return;
    }
    document.documentElement.dataset.search = "ready";
    recall();
    if (input.value) search();
    else input.focus();
    prepare().catch(function () {});
  }
  start();
})();
