"use strict";
// The blog as of an older version: `?v=7` in the address of any page. What each version changed is in data/past-*.js as it
// was before; this takes back what came later, the newest first. Nothing here runs where no version was asked for, but
// what offers to choose one.
(function () {
  const PRIVATE = 1, GONE = 2, DAMAGED = 4, PAGE = 8;
  const RECENT = 30, PICTURES = 48;
  const asked = Number(new URLSearchParams(location.search).get("v")) || 0;
  if (asked) document.documentElement.dataset.past = "wait";

  // A page of the past comes without the frame that all of them share, and without the scripts of entries.
  window.blogFrame = function (top, end) {
    document.currentScript.insertAdjacentHTML("afterend", top);
    document.addEventListener("readystatechange", function () { document.body.insertAdjacentHTML("beforeend", end); }, { once: true });
    addEventListener("DOMContentLoaded", function () {
      if (document.querySelector("article.entry")) for (const name of ["lightbox", "reading", "vertical"]) addScript(name);
    });
  };

  function addScript(name) {
    document.head.append(Object.assign(document.createElement("script"), { src: `${root}static/${name}.js` }));
  }

  let root, site, here, index, words, at;
  const before = new Map();
  const rewritten = new Set();
  const said = new Map();
  const replaced = [];

  addEventListener("DOMContentLoaded", function () {
    root = document.body.dataset.root;
    site = new URL(root || ".", location.href).pathname;
    here = location.pathname.slice(site.length) || "index.html";
    const places = document.querySelectorAll("[data-past]");
    if (!asked && !places.length) return;
    start(places).catch(function () {}).then(function () {
      if (document.documentElement.dataset.past === "wait") delete document.documentElement.dataset.past;
    });
  });

  async function start(places) {
    index = await blogLoad("past", "", "past.js");
    words = index.words;
    for (const place of places) {
      place.querySelector(".scrub")?.replaceWith(scrubber(index.versions.length - 1, "index.html"));
      place.hidden = false;
    }
    at = index.versions.findLastIndex(function (version) { return version[0] <= asked; });
    if (!asked || at === index.versions.length - 1) return;
    at = Math.max(0, at);
    const steps = await stepsSince(index.versions[at][0]);
    takeBack(steps);
    if (await elsewhere()) return new Promise(function () {});
    for (const type of ["pointerdown", "focusin", "click", "auxclick"]) addEventListener(type, keepVersion, true);
    addEventListener("submit", search, true);
    await show(steps);
    if (here.startsWith("gallery")) addScript("lightbox");
    banner();
    document.documentElement.dataset.past = "shown";
    // What the address names was not there when the browser looked for it.
    document.getElementById(decodeURIComponent(location.hash.slice(1)))?.scrollIntoView();
  }

  // What was there.

  async function stepsSince(version) {
    const files = index.chunks.filter(function (chunk) { return chunk[1] > version; });
    const found = await Promise.all(files.map(function ([first]) { return blogLoad("past", String(first), "past-" + first + ".js"); }));
    return found.flat().filter(function (step) { return step[0] > version; }).sort(function (a, b) { return b[0] - a[0]; });
  }

  function takeBack(steps) {
    for (const [, entries, comments, files] of steps) {
      for (const [name, put, ...row] of entries) {
        before.set(name, row.length ? row : null);
        if (put) rewritten.add(name);
      }
      replaced.push(...files);
      for (const [id, name, put, html] of comments) said.set(id, { name, today: said.has(id) ? said.get(id).today : put, html });
    }
  }

  function entryOf(name, row, comments) {
    const [date, title, groups, flags, access, state] = row;
    const page = rewritten.has(name) && state ? `history/entry-${name}-v${state}.html` : `entry/${name}.html`;
    return { name, date, title, categories: [groups].flat(), flags, access, page, comments, year: date ? date.slice(0, 4) : "undated" };
  }

  let listed;
  function listing() {
    listed ??= list();
    return listed;
  }

  async function list() {
    const lists = await Promise.all(index.years.map(function (year) { return blogLoad("list", year, "list-" + year + ".js"); }));
    const talk = new Map();
    for (const { name, today, html } of said.values()) talk.set(name, (talk.get(name) || 0) + Boolean(html) - today);
    const found = [];
    const counts = new Map();
    for (const [name, ...row] of lists.flatMap(function (each) { return each.entries; })) {
      counts.set(name, row.pop() + (talk.get(name) || 0));
      if (!before.has(name)) found.push(entryOf(name, row, counts.get(name)));
    }
    for (const [name, row] of before) if (row) found.push(entryOf(name, row, counts.get(name) || 0));
    return found.filter(function (each) { return !(each.flags & PAGE); }).sort(function (a, b) { return compare(b.date, a.date) || compare(Number(b.name), Number(a.name)); });
  }

  function compare(a, b) {
    return a < b ? -1 : a > b ? 1 : 0;
  }

  function grouped(things, key) {
    const found = new Map();
    for (const each of things) found.set(key(each), [...(found.get(key(each)) ?? []), each]);
    return found;
  }

  // How it is written.

  function make(tag, attributes, ...children) {
    const found = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes ?? {})) {
      if (name === "text") found.textContent = value;
      else if (value !== null) found.setAttribute(name, value);
    }
    found.append(...children.filter(function (child) { return child !== null; }));
    return found;
  }

  function fill(word, ...values) {
    return values.reduce(function (text, value) {
      return typeof value === "number" ? blogCounted(text, value) : text.replace(/%[ds]/, function () { return value; });
    }, word);
  }

  function day(date) {
    const [year, month, number] = date.slice(0, 10).split("-").map(Number);
    const moment = new Date(Date.UTC(year, month - 1, number));
    if (document.documentElement.lang === "ja") return `${year}年${month}月${number}日（${"日月火水木金土"[moment.getUTCDay()]}）`;
    return `${number} ${moment.toLocaleString("en", { month: "long", timeZone: "UTC" })} ${year}`;
  }

  function shortDay(date) {
    const [year, month, number] = date.slice(0, 10).split("-").map(Number);
    return document.documentElement.lang === "ja" ? `${year}年${month}月${number}日` : day(date);
  }

  function monthName(month) {
    if (document.documentElement.lang === "ja") return `${month}月`;
    return new Date(Date.UTC(2000, month - 1, 1)).toLocaleString("en", { month: "long", timeZone: "UTC" });
  }

  function yearName(year) {
    return year === "undated" ? words.undated : document.documentElement.lang === "ja" ? `${year}年` : year;
  }

  function moment(version) {
    return version[1] ? `${day(version[1])} ${version[1].slice(11)}` : fill(words.version, String(version[0]));
  }

  function link(page, text, attributes) {
    return make("a", { href: root + page, text, ...attributes });
  }

  function badges(entry) {
    const found = [];
    if (entry.flags & PRIVATE) found.push(make("span", { class: "badge private", text: words.private }));
    const audience = words["audience_" + entry.access];
    if (entry.access) found.push(make("span", { class: audience ? "badge private" : "badge", text: audience ?? fill(words.access, entry.access) }));
    if (entry.flags & GONE) found.push(make("span", { class: "badge gone", text: words.gone_word }));
    if (entry.flags & DAMAGED) found.push(make("span", { class: "badge", text: words.damaged_state }));
    return found;
  }

  function line(entry) {
    return make("li", { class: "line", "data-item": "" },
      entry.date ? make("time", { datetime: entry.date.slice(0, 10), text: day(entry.date) }) : null,
      link(entry.page, entry.title || words.untitled, { lang: "ja" }), ...badges(entry),
      entry.comments > 0 ? make("span", { class: "talk", text: fill(words.n_comments, entry.comments) }) : null);
  }

  function lines(entries) {
    return make("ul", { class: "lines" }, ...entries.map(line));
  }

  function header(title, note, attributes) {
    return make("header", { class: "title" }, make("h1", { text: title, ...attributes }), make("p", { class: "faint", text: note }));
  }

  function chips(rows) {
    return make("ul", { class: "chips" }, ...rows.map(function ([name, page, number]) {
      const found = link(page, name + " ");
      found.append(make("small", { text: blogNumber(number) }));
      return make("li", null, found);
    }));
  }

  function section(id, title, ...children) {
    return make("section", { id }, title ? make("h2", { text: title }) : null, ...children);
  }

  function yearPage(year) {
    return index.years.includes(year) ? `year/${year}.html` : `years.html?y=${year}`;
  }

  function yearChips(entries) {
    return chips([...grouped(entries, function (each) { return each.year; })].map(function ([year, found]) {
      return [yearName(year), yearPage(year), found.length];
    }));
  }

  // The pages.

  async function show(steps) {
    const main = document.getElementById("main");
    const parameters = new URLSearchParams(location.search);
    const name = here.split("/").pop().replace(/\.html$/, "");
    const article = main.querySelector("article");
    if (here === "index.html") main.replaceChildren(...home(await listing()));
    else if (here === "years.html" && parameters.get("y")) main.replaceChildren(...ofYear(await listing(), parameters.get("y")));
    else if (here === "years.html") main.replaceChildren(...years(await listing()));
    else if (here.startsWith("year/")) main.replaceChildren(...ofYear(await listing(), name));
    else if (here === "categories.html" && parameters.has("c")) main.replaceChildren(...ofCategory(await listing(), parameters.get("c")));
    else if (here === "categories.html") main.replaceChildren(...categories(await listing()));
    else if (here.startsWith("category/")) main.replaceChildren(...ofCategory(await listing(), categoryOf(here)));
    else if (here === "gallery.html") main.replaceChildren(...await gallery(parameters.get("y")));
    else if (here.startsWith("gallery/")) main.replaceChildren(...await gallery(name));
    else if (here.startsWith("comments")) comments(main, await listing());
    else if (article && (article.dataset.entry || article.dataset.state)) await entry(main, article, steps);
    else if (!here.startsWith("history/")) main.prepend(make("p", { class: "notice", text: words.past_today_only }));
  }

  function home(entries) {
    const there = entries.filter(function (each) { return !(each.flags & GONE); });
    return [
      header(document.querySelector(".site-name").textContent, fill(words.count, entries.length), { lang: "ja" }),
      section(null, words.recent, lines(there.slice(0, RECENT))),
      section(null, words.all_entries, yearChips(entries)),
    ];
  }

  function years(entries) {
    const rows = [...grouped(entries, function (each) { return each.year; })].filter(function ([year]) { return year !== "undated"; });
    const months = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12];
    const counts = rows.map(function ([, found]) {
      return months.map(function (month) { return found.filter(function (each) { return Number(each.date.slice(5, 7)) === month; }).length; });
    });
    const most = Math.max(1, ...counts.flat());
    const body = rows.map(function ([year, found], row) {
      const cells = counts[row].map(function (number, month) {
        const shade = { class: "s" + Math.ceil(number * 4 / most) };
        const name = monthName(month + 1);
        const cell = number ? link(`${yearPage(year)}#m${month + 1}`, blogNumber(number), { ...shade, "aria-label": `${yearName(year)} ${name}: ${blogNumber(number)}` }) : "";
        return make("td", { "data-month": name.slice(0, 3) }, cell);
      });
      return make("tr", null, make("th", { scope: "row" }, link(yearPage(year), yearName(year))), ...cells,
        make("td", { class: "sum", text: blogNumber(found.length) }));
    });
    const names = months.map(function (month) { return make("th", { scope: "col", text: monthName(month).slice(0, 3) }); });
    const head = make("tr", null, make("td"), ...names, make("th", { scope: "col", text: words.total }));
    const table = make("table", { class: "calendar", "aria-label": words.years }, make("thead", null, head), make("tbody", null, ...body));
    const undated = entries.filter(function (each) { return each.year === "undated"; });
    return [
      header(words.years, fill(words.count, entries.length)),
      table,
      undated.length ? section(null, words.undated, lines(undated)) : "",
    ];
  }

  function ofYear(entries, year) {
    const found = entries.filter(function (each) { return each.year === year; });
    const months = grouped(found, function (each) { return Number(each.date.slice(5, 7)); });
    const all = [...grouped(entries, function (each) { return each.year; }).keys()];
    const beside = [1, -1].map(function (by) { return all[all.indexOf(year) + by]; });
    return [
      header(yearName(year), fill(words.count, found.length)),
      ...[...months].map(function ([month, some]) { return section("m" + month, month ? monthName(month) : "", lines(some)); }),
      turn(words.years, ...beside.map(function (other) { return other && { page: yearPage(other), title: yearName(other) }; }), [words.older, words.newer]),
    ];
  }

  function categoryPage(name) {
    return Object.hasOwn(index.categories, name) ? index.categories[name] : "categories.html?c=" + encodeURIComponent(name);
  }

  function categoryOf(page) {
    return Object.keys(index.categories).find(function (name) { return index.categories[name] === page; }) ?? "";
  }

  function categories(entries) {
    const each = entries.flatMap(function (entry) { return entry.categories.map(function (category) { return { entry, category }; }); });
    const found = [...grouped(each, function ({ category }) { return category; })].sort(function (a, b) { return b[1].length - a[1].length; });
    const tiles = found.map(function ([name, some]) {
      const tile = link(categoryPage(name));
      tile.append(make("strong", { lang: "ja", text: name || words.uncategorised }), make("small", { text: fill(words.count, some.length) }));
      return make("li", { "data-item": "" }, tile);
    });
    return [header(words.categories, fill(words.count, entries.length)), make("ul", { class: "tiles" }, ...tiles)];
  }

  function ofCategory(entries, name) {
    const found = entries.filter(function (each) { return each.categories.includes(name); });
    const parts = [...grouped(found, function (each) { return each.year; })];
    return [
      header(name || words.uncategorised, fill(words.count, found.length), { lang: "ja" }),
      ...parts.map(function ([year, some]) { return section(null, yearName(year), lines(some)); }),
    ];
  }

  async function gallery(wanted) {
    const entries = new Map((await listing()).map(function (each) { return [each.name, each]; }));
    const number = index.versions[at][0];
    const lists = await Promise.all(index.pictures.map(function (year) {
      return blogLoad("list", year, "list-" + year + ".js");
    }));
    const found = [];
    for (const [path, width, height, users, small] of lists.flatMap(function (each) { return each.pictures; })) {
      const shown = users.filter(function ([, from, until]) { return from <= number && (!until || number < until); });
      const posts = shown.map(function ([name]) { return entries.get(name); }).filter(Boolean);
      posts.sort(function (a, b) { return compare(b.date, a.date); });
      const then = fileThen(path, replaced);
      if (posts.length) found.push(then === path ? { path, width, height, small, posts } : { path: then, posts });
    }
    found.sort(function (a, b) { return compare(b.posts[0].date, a.posts[0].date); });
    const byYear = [...grouped(found, function (each) { return each.posts[0].year; })];
    const pictures = wanted ? found.filter(function (each) { return each.posts[0].year === wanted; }) : found.slice(0, PICTURES);
    return [
      header(wanted ? `${words.gallery} ${yearName(wanted)}` : words.gallery, fill(words.n_of, wanted ? pictures.length : found.length)),
      wanted ? "" : chips(byYear.map(function ([year, some]) {
        return [yearName(year), index.pictures.includes(year) ? `gallery/${year}.html` : `gallery.html?y=${year}`, some.length];
      })),
      found.length ? "" : make("p", { text: words.past_no_pictures }),
      flow(pictures, Boolean(wanted)),
    ];
  }

  function monthOf({ posts: [{ date }] }, ofYear) {
    if (!date) return words.undated;
    const month = monthName(Number(date.slice(5, 7)));
    if (ofYear) return month;
    return document.documentElement.lang === "ja" ? yearName(date.slice(0, 4)) + month : `${month} ${date.slice(0, 4)}`;
  }

  function ratio({ width, height }) {
    return width && height ? Math.round(Math.min(Math.max(width / height, 0.4), 4) * 100) / 100 : 1.33;
  }

  // Where each row of pictures ends, so that all are as equally high as their order permits.
  function rowLengths(ratios, wanted, most) {
    const costs = [0], lengths = [0];
    for (let end = 1; end <= ratios.length; end++) {
      let total = 0;
      costs.push(Infinity);
      for (let length = 1; length <= Math.min(most, end); length++) {
        total += ratios[end - length];
        const short = end === ratios.length && total < wanted;
        const cost = costs[end - length] + (short ? 0 : Math.log(total / wanted) ** 2);
        if (cost < costs[end]) [costs[end], lengths[end]] = [cost, length];
      }
    }
    const found = [];
    for (let end = ratios.length; end; end -= lengths[end]) found.unshift(lengths[end]);
    return found;
  }

  function shares(ratios, wanted, most) {
    let start = 0;
    return rowLengths(ratios, wanted, most).flatMap(function (length) {
      const row = ratios.slice(start, start += length);
      const sum = row.reduce(function (a, b) { return a + b; });
      const total = start < ratios.length ? sum : Math.max(sum, wanted);
      return row.map(function (each) { return [Math.floor(each / total * 10000) / 10000, length - 1]; });
    });
  }

  function flow(pictures, ofYear) {
    const placed = [...grouped(pictures, function (each) { return each.posts[0]; }).values()].flat();
    const ratios = placed.map(ratio);
    const wide = shares(ratios, 4, 6), narrow = shares(ratios, 2.1, 3);
    const numbers = new Map();
    return make("ul", { class: "gallery" }, ...placed.map(function (picture, number) {
      const [post] = picture.posts;
      const month = monthOf(picture, ofYear);
      const begins = post.date && (!number || month !== monthOf(placed[number - 1], ofYear));
      numbers.set(post, (numbers.get(post) ?? 0) + 1);
      const style = `--r:${ratios[number]};--d:${wide[number][0]};--k:${wide[number][1]};--p:${narrow[number][0]};--q:${narrow[number][1]}`;
      const date = post.date ? make("time", { datetime: post.date.slice(0, 10), text: shortDay(post.date) }) : null;
      return make("li", { style, "data-item": "" },
        begins ? make("h2", { id: "m" + post.date.slice(0, 7), text: month }) : null,
        make("figure", null, shot(picture, words.picture_of.replace("%d", numbers.get(post)).replace("%s", function () { return post.title || words.untitled; })),
          make("figcaption", null, link(post.page, post.title || words.untitled, { lang: "ja" }), " ", make("small", null, date, " ", ...badges(post)))));
    }));
  }

  function shot({ path, width, height, small }, name) {
    const file = root + index.assets + path;
    const size = width && height ? { width, height } : {};
    const image = make("img", { src: small ? root + small : file, alt: name, loading: "lazy", ...size, class: "unnamed" });
    // A browser runs what is in some kinds of pictures where they are opened alone.
    const opens = /\.(avif|bmp|gif|heic|ico|jp2|jpg|jxl|png|tif|webp)$/.test(path);
    return opens ? make("a", { href: file, "data-zoom": "" }, image) : image;
  }

  // An entry: where another page has its state of that day, that one is shown.

  function entryHere() {
    const article = document.querySelector("article[data-entry], article[data-state]");
    const [page, state] = (article?.dataset.entry ?? article?.dataset.state ?? "").split(" ");
    return page ? { name: page.replace(/^entry\/|\.html$/g, ""), page, state: Number(state) || 0 } : null;
  }

  async function elsewhere() {
    const shown = entryHere();
    if (!shown) return false;
    const row = before.get(shown.name);
    const wanted = row ? entryOf(shown.name, row, 0).page : shown.page;
    if (wanted === here || row === null) return false;
    location.replace(root + wanted + location.search + location.hash);
    return true;
  }

  async function entry(main, article, steps) {
    const { name } = entryHere();
    const row = before.get(name);
    if (row === null) {
      main.replaceChildren(make("header", { class: "title" }, make("h1", { text: words.past_not_yet })));
      return;
    }
    if (row && !(row[3] & GONE)) for (const each of article.querySelectorAll("[data-gone], .badge.gone")) each.remove();
    const until = Number(article.dataset.state?.split(" ")[2]) || Infinity;
    const since = steps.filter(function (step) { return step[0] <= until; });
    talk(article, name, since);
    picturesThen(article, since.flatMap(function (step) { return step[3]; }));
    const entries = await listing();
    const place = entries.findIndex(function (each) { return each.name === name; });
    for (const old of main.querySelectorAll(".turn, .beside")) old.remove();
    if (place >= 0) article.after(turn(`${words.previous} / ${words.next}`, entries[place + 1], entries[place - 1], [words.previous, words.next]));
  }

  function turn(name, before, after, labels) {
    return make("nav", { class: "turn", "aria-label": name },
      neighbour(before, "prev", "← " + labels[0]), neighbour(after, "next", labels[1] + " →"));
  }

  function neighbour(other, rel, label) {
    if (!other) return make("span");
    const found = link(other.page, "", { rel });
    found.append(make("small", { text: label }), make("span", { lang: "ja", text: other.title || words.untitled }));
    return found;
  }

  // A file that took the place of another is called by the hash of what it holds, and so is its thumbnail.

  function fileThen(path, files) {
    return files.reduce(function (found, [name, before]) { return found.includes(name) ? before : found; }, path);
  }

  function picturesThen(place, files) {
    for (const each of place.querySelectorAll("img[src], a[href]")) {
      const name = each.matches("img") ? "src" : "href";
      const then = fileThen(each.getAttribute(name), files);
      if (then === each.getAttribute(name)) continue;
      each.setAttribute(name, root + index.assets + then);
      each.removeAttribute("width");
      each.removeAttribute("height");
    }
  }

  function markup(html) {
    const template = document.createElement("template");
    template.innerHTML = html;
    for (const each of template.content.querySelectorAll("[src], [href]")) {
      for (const name of ["src", "href"]) {
        const value = each.getAttribute(name);
        if (value && !/^(?:[a-z][a-z0-9+.-]*:|[#/])/i.test(value)) each.setAttribute(name, root + value);
      }
    }
    return template.content;
  }

  function comment(id, html) {
    const found = make("li", { id: "comment-" + id, class: "comment", "data-item": "" });
    found.append(markup(html));
    return found;
  }

  function withoutComment(id) {
    const found = document.getElementById("comment-" + id);
    found?.replaceWith(...found.querySelectorAll(":scope > ol > li"));
  }

  function talk(article, name, steps) {
    const then = new Map();
    for (const [, , found] of steps) for (const [id, owner, , html] of found) if (owner === name) then.set(id, html);
    let shown = article.querySelector("#comments");
    if (!shown && [...then.values()].some(Boolean)) {
      shown = make("section", { class: "comments", id: "comments" }, make("h2"), make("ol"));
      article.querySelector(".facts")?.before(shown);
    }
    if (!shown || !then.size) return;
    const items = shown.querySelector("ol");
    for (const [id, html] of then) {
      withoutComment(id);
      if (!html) continue;
      const later = [...items.children].find(function (each) { return compare(Number(each.id.slice(8)), Number(id)) > 0; });
      items.insertBefore(comment(id, html), later ?? null);
    }
    const number = shown.querySelectorAll("li.comment").length;
    shown.querySelector("h2").textContent = fill(words.n_comments, number);
    shown.hidden = !number;
  }

  function comments(main, entries) {
    const named = new Map(entries.map(function (each) { return [each.name, each]; }));
    const items = main.querySelector("ol.comments");
    // A page that leads to others shows the newest; others all of a year or a month, or a part of it.
    const overview = main.querySelector(".chips");
    const [, span, part] = /^comments\/([0-9]{4}(?:-[0-9]{2})?|undated)(-[0-9]+)?\.html$/.exec(here) ?? [];
    for (const [id, { name, html }] of said) {
      withoutComment(id);
      if (!html) continue;
      const item = comment(id, html);
      const date = item.querySelector("time")?.dateTime ?? "undated";
      const older = [...items.children].find(function (each) { return compare(each.querySelector("time")?.dateTime ?? "", date) <= 0; });
      if (span ? !date.startsWith(span) : !overview) continue;
      if ((overview && !older) || (part && (!older || older === items.firstElementChild))) continue;
      if (named.has(name)) item.prepend(make("p", { class: "about" }, link(`entry/${name}.html#comment-${id}`, "")));
      items.insertBefore(item, older ?? null);
    }
    for (const each of items.querySelectorAll(".about a")) {
      const found = named.get(/entry\/([^/]+)\.html/.exec(each.href)?.[1]);
      each.replaceChildren(found ? found.title || words.untitled : each.textContent);
    }
    for (const number of overview?.querySelectorAll("small") ?? []) number.remove();
    const total = main.querySelector(".title .faint");
    if (overview) total.remove();
    else total.textContent = fill(words.n_comments, items.querySelectorAll("li.comment").length);
  }

  // Where one stands, and how one goes elsewhere.

  function address(page, version) {
    const url = new URL(root + page, location.href);
    if (version === index.versions.length - 1) url.searchParams.delete("v");
    else url.searchParams.set("v", index.versions[version][0]);
    return url.href;
  }

  function samePage() {
    const shown = entryHere();
    const url = new URL(location.href);
    return (shown ? shown.page : here) + (shown ? "" : url.search);
  }

  function scrubber(version, page) {
    const last = index.versions.length - 1;
    const label = make("output", { text: moment(index.versions[version]) });
    const range = make("input", { type: "range", min: 0, max: last, value: version, "aria-label": words.past_pick });
    const dates = index.versions.map(function (each) { return each[1].slice(0, 10); }).filter(Boolean);
    const date = make("input", { type: "date", min: dates[0] ?? null, max: dates.at(-1) ?? null, "aria-label": words.past_pick });
    date.value = index.versions[version][1].slice(0, 10);
    range.setAttribute("aria-valuetext", label.textContent);
    range.addEventListener("input", function () {
      label.textContent = moment(index.versions[range.value]);
      range.setAttribute("aria-valuetext", label.textContent);
    });
    range.addEventListener("change", function () { location.href = address(page, Number(range.value)); });
    date.addEventListener("change", function () {
      const found = index.versions.findLastIndex(function (each) { return each[1] && each[1].slice(0, 10) <= date.value; });
      if (date.value) location.href = address(page, Math.max(0, found));
    });
    function step(to, sign, name) {
      return to < 0 || to > last ? make("span", { class: "step" })
        : make("a", { class: "step", href: address(page, to), text: sign, "aria-label": name, title: name, "data-now": "" });
    }
    return make("div", { class: "scrub" }, step(version - 1, "‹", words.past_older), range, step(version + 1, "›", words.past_newer), date, label);
  }

  function banner() {
    const version = index.versions[at];
    const page = samePage();
    const back = make("a", { href: address(page, index.versions.length - 1), text: words.past_back, "data-now": "" });
    const strip = make("p", null, make("strong", { text: fill(words.past_at, moment(version)) }), " ", back);
    const damaged = index.damaged.some(function (number) { return number > version[0]; });
    document.getElementById("main").before(make("section", { class: "past", "aria-label": words.past_title }, strip, scrubber(at, page),
      damaged ? make("p", { class: "notice", text: words.past_damaged }) : null));
    document.title = `${document.title} (${version[1].slice(0, 10) || version[0]})`;
  }

  function keepVersion(event) {
    const found = event.target.closest?.("a[href]");
    if (!found || "now" in (found.dataset ?? {})) return;
    const url = new URL(found.getAttribute("href"), location.href);
    if (url.protocol !== location.protocol || !url.pathname.startsWith(site) || !url.pathname.endsWith(".html")) return;
    if (url.searchParams.has("v")) return;
    // Of links to one state of an entry, each leads to the version that brought it.
    url.searchParams.set("v", found.dataset?.v ?? index.versions[at][0]);
    found.setAttribute("href", url.href);
  }

  function search(event) {
    const query = event.target.elements?.q;
    if (!query || here === "search.html") return;
    event.preventDefault();
    event.stopImmediatePropagation();
    location.href = `${root}search.html?q=${encodeURIComponent(query.value)}&v=${index.versions[at][0]}`;
  }
})();
