"use strict";
(function () {
  const root = document.body.dataset.root;
  const site = new URL(root || ".", location.href).pathname;
  const waiting = new Map();
  const loading = new Map();

  // Data comes as scripts, since a page opened from a folder may fetch nothing.
  window.blogData = function (kind, name, value) {
    const key = kind + " " + name;
    const settle = waiting.get(key);
    waiting.delete(key);
    if (settle) settle(value);
  };
  window.blogLoad = function (kind, name, file) {
    const known = loading.get(file);
    if (known) return known;
    const found = new Promise(function (resolve, reject) {
      const script = document.createElement("script");
      waiting.set(kind + " " + name, resolve);
      script.onload = function () { script.remove(); };
      script.onerror = function () { script.remove(); reject(new Error(file)); };
      script.src = root + "data/" + file;
      document.head.append(script);
    });
    loading.set(file, found);
    const forget = function () { loading.delete(file); };
    found.then(forget, forget);
    return found;
  };

  function kept(name, fallback) {
    try {
      return JSON.parse(localStorage.getItem("blog-exporter " + site + " " + name)) ?? fallback;
    } catch {
      return fallback;
    }
  }
  function keep(name, value) {
    try {
      localStorage.setItem("blog-exporter " + site + " " + name, JSON.stringify(value));
    } catch {
      // Nothing is kept, then.
    }
  }

  function toggleTheme() {
    const html = document.documentElement;
    const dark = html.dataset.theme ? html.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    html.dataset.theme = dark ? "light" : "dark";
    try {
      localStorage.setItem("blog-exporter theme", html.dataset.theme);
    } catch {
      // It lasts as long as the page, then.
    }
  }

  function listItem(page, title, note) {
    const item = document.createElement("li");
    const link = document.createElement("a");
    const small = document.createElement("small");
    link.href = root + page;
    link.textContent = title;
    small.textContent = note;
    item.append(link, " ", small);
    return item;
  }

  function element(name, classes, text) {
    const made = document.createElement(name);
    if (classes) made.className = classes;
    made.textContent = text ?? "";
    return made;
  }

  /** An entry as the page shows the newest ones. */
  function card([page, day, title, excerpt, picture, hidden], words) {
    const item = document.createElement("li");
    const link = element("a", picture ? "pictured" : "");
    const text = element("span", "text");
    const name = element("strong", "", title || words.untitled);
    const beginning = element("span", "excerpt", excerpt);
    item.dataset.item = "";
    link.href = root + page;
    name.lang = beginning.lang = "ja";
    text.append(element("time", "", day), name, beginning);
    if (picture) link.append(Object.assign(document.createElement("img"), { src: picture, alt: "" }));
    link.append(text);
    item.append(link);
    if (hidden) item.append(element("span", "badge private", words.private));
    return item;
  }

  async function today() {
    const section = document.getElementById("today");
    if (!section) return;
    const now = new Date();
    const day = String(now.getMonth() + 1).padStart(2, "0") + String(now.getDate()).padStart(2, "0");
    if (!section.dataset.days.split(" ").includes(day)) return;
    const found = await blogLoad("day", day, "day-" + day + ".js");
    section.querySelector("ul").append(...found.map(function (row) { return card(row, section.dataset); }));
    section.querySelector("small").textContent = found.length;
    section.hidden = false;
  }

  async function random(button) {
    const days = button.dataset.days.split(" ");
    const day = days[Math.floor(Math.random() * days.length)];
    const found = await blogLoad("day", day, "day-" + day + ".js");
    location.href = root + found[Math.floor(Math.random() * found.length)][0];
  }

  function reading() {
    const section = document.getElementById("continue");
    if (section) {
      const list = section.querySelector("ul");
      for (const each of kept("reading", [])) {
        list.append(listItem(each.page + "#read-" + each.at, each.title, each.at + "%"));
      }
      section.querySelector("small").textContent = list.children.length;
      section.hidden = !list.children.length;
    }
    const entry = document.querySelector("[data-entry]");
    if (!entry) return;
    const found = /^#read-([0-9]{1,3})$/.exec(location.hash);
    const height = function () { return document.documentElement.scrollHeight - innerHeight; };
    if (found) scrollTo(0, height() * found[1] / 100);
    addEventListener("pagehide", function () {
      const at = height() > 0 ? Math.round(100 * scrollY / height()) : 100;
      const page = entry.dataset.entry;
      const others = kept("reading", []).filter(function (each) { return each.page !== page; });
      const title = entry.querySelector("h1").textContent;
      keep("reading", at > 5 && at < 95 ? [{ page, title, at }, ...others].slice(0, 4) : others);
    });
  }

  let at = -1;
  function move(by) {
    const items = [...document.querySelectorAll("[data-item]")].filter(function (item) { return item.offsetParent; });
    if (!items.length) return;
    at = Math.max(0, Math.min(items.length - 1, at + by));
    const item = items[at];
    const target = item.querySelector("a[href]") ?? item;
    if (target === item) item.tabIndex = -1;
    target.focus({ preventScroll: true });
    item.scrollIntoView({ block: "nearest" });
  }

  function follow(relation) {
    const link = document.querySelector("a[rel=" + relation + "]");
    if (link) link.click();
  }

  const help = document.getElementById("keys");
  const actions = {
    "/": function () {
      const field = document.querySelector("main input[type=search]") ?? document.querySelector("input[type=search]");
      if (field.checkVisibility()) field.focus();
      else document.querySelector(".seek").click();
    },
    j: function () { move(1); },
    k: function () { move(-1); },
    n: function () { follow("next"); },
    p: function () { follow("prev"); },
    h: function () { document.querySelector(".site-name a").click(); },
    t: toggleTheme,
    "?": function () { help?.showModal(); },
  };
  addEventListener("keydown", function (event) {
    if (event.isComposing || event.ctrlKey || event.metaKey || event.altKey) return;
    const typing = event.target.closest?.("input, textarea, select");
    if (event.key === "Escape" && typing) typing.blur();
    if (typing || document.querySelector("dialog[open]") || !Object.hasOwn(actions, event.key)) return;
    event.preventDefault();
    actions[event.key]();
  });

  const buttons = { theme: toggleTheme, keys: function () { help.showModal(); }, random };
  for (const button of document.querySelectorAll("button[data-do]")) {
    button.hidden = button.dataset.do === "random" && !button.dataset.days;
    button.addEventListener("click", function () { buttons[button.dataset.do](button); });
  }
  for (const pick of document.querySelectorAll("select[data-do=pick]")) {
    pick.closest("[hidden]").hidden = false;
    pick.addEventListener("change", function () {
      for (const step of document.querySelectorAll("[data-step]")) step.hidden = pick.value !== "" && step.id !== pick.value;
    });
  }
  // In Firefox a page from a folder may not send forms, since no address of a folder is of its own origin.
  const find = document.querySelector(".top form");
  find.addEventListener("submit", function (event) {
    event.preventDefault();
    location.href = find.action + "?q=" + encodeURIComponent(find.elements.q.value);
  });
  if (new URLSearchParams(location.search).get("q") && !document.getElementById("search") && window.Highlight) {
    for (const name of ["folding", "found"]) {
      const script = document.createElement("script");
      script.async = false;
      script.src = root + "static/" + name + ".js";
      document.head.append(script);
    }
  }
  today();
  reading();
})();
