"use strict";
(function () {
  const words = document.body.dataset;
  const root = words.root;
  const SHOWN = 100;

  const theme = document.getElementById("theme");
  theme.hidden = false;
  theme.addEventListener("click", function () {
    const html = document.documentElement;
    const dark = html.dataset.theme ? html.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    html.dataset.theme = dark ? "light" : "dark";
    try {
      localStorage.setItem("blog-exporter theme", html.dataset.theme);
    } catch {
      // It lasts as long as the page, then.
    }
  });

  // In Firefox a page from a folder may not send forms, since no address of a folder is of its own origin.
  const find = document.querySelector(".top form");
  find.addEventListener("submit", function (event) {
    event.preventDefault();
    location.href = find.action + "?q=" + encodeURIComponent(find.elements.q.value);
  });

  // Data come as scripts, since a page opened from a folder may fetch nothing; one file at a time, and none is kept.
  let settle = null;
  window.blogNames = function (rows) { settle?.(rows); };
  window.blogData = function (kind, name, value) { settle?.(value); };
  window.blogLoad = function (kind, name, file) { return loaded("static/" + file); };
  function load(part) { return loaded("names/" + String(part).padStart(6, "0") + ".js"); }
  function loaded(path) {
    return new Promise(function (resolve, reject) {
      const script = document.createElement("script");
      settle = resolve;
      script.onload = function () { script.remove(); };
      script.onerror = function () { script.remove(); reject(new Error(script.src)); };
      script.src = root + "fleet/" + path;
      document.head.append(script);
    });
  }

  function line([, name, blog, path, note, years]) {
    const item = document.createElement("li");
    const title = document.createElement(path ? "a" : "span");
    const small = document.createElement("small");
    item.className = "line";
    if (path) title.href = root + path;
    title.lang = "ja";
    title.textContent = name;
    small.textContent = (name === blog ? "" : blog + " ") + note;
    const time = document.createElement("time");
    time.textContent = years;
    item.append(time, title, " ", small);
    return item;
  }

  const status = document.getElementById("status");
  const list = document.getElementById("found");
  const more = document.getElementById("more");
  async function search(query) {
    if (!query.trim() || !list) return;
    await blogFolding.load();
    const wanted = blogFolding.fold(query).split(" ").filter(Boolean);
    let count = 0;
    let room = SHOWN;
    let go = null;
    list.hidden = false;
    more.addEventListener("click", function () { room += SHOWN; more.hidden = true; go?.(); });
    for (let part = 1; part <= Number(words.parts); part += 1) {
      status.textContent = words.searching;
      for (const row of await load(part)) {
        if (!wanted.every(function (word) { return row[0].includes(word); })) continue;
        if (count >= room) {
          status.textContent = blogCounted(words.found, count, "+");
          more.hidden = false;
          await new Promise(function (resolve) { go = resolve; });
        }
        count += 1;
        list.append(line(row));
      }
    }
    status.textContent = count ? blogCounted(words.found, count) : words.none;
  }
  const asked = new URLSearchParams(location.search).get("q") ?? "";
  find.elements.q.value = asked;
  search(asked).catch(function () { status.textContent = words.error; });
})();
