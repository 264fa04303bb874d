"use strict";
// Shows a running job's progress as it comes. Without this script, the page loads itself again every few seconds.
for (const part of document.querySelectorAll("[data-job][data-running]")) {
  const stream = new EventSource(part.dataset.job);
  const at = (name) => part.querySelector(`[data-${name}]`);
  stream.onmessage = (event) => {
    const state = JSON.parse(event.data);
    if (!state.running) {
      stream.close();
      location.reload();
      return;
    }
    at("rows").replaceChildren(...state.rows.map((row) => {
      const line = document.createElement("p");
      const [name, bar, count] = ["span", "progress", "span"].map((tag) => document.createElement(tag));
      line.className = "row";
      name.textContent = row.name;
      bar.setAttribute("aria-label", row.name);
      if (row.total !== null) {
        bar.max = row.total || 1;
        bar.value = row.done;
      }
      count.textContent = row.shown;
      line.append(name, " ", bar, " ", count);
      return line;
    }));
    at("lines").replaceChildren(...state.lines.map((said) => {
      const line = document.createElement("li");
      line.className = `${said.event} as-typed`;
      line.textContent = said.text;
      return line;
    }));
  };
}
