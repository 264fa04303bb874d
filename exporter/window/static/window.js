"use strict";
// Shows a running job's progress as it comes. Without this script, the page loads itself again every few seconds.
for (const part of document.querySelectorAll("[data-job][data-running]")) {
  const stream = new EventSource(part.dataset.job);
  const at = (name) => part.querySelector(`[data-${name}]`);
  stream.onmessage = (event) => {
    const state = JSON.parse(event.data);
    if (!state.running || state.stage !== part.dataset.stage) {
      stream.close();
      location.reload();
      return;
    }
    if (!at("rows")) return;
    if (state.rows.length) at("rows").replaceChildren(...state.rows.map((row) => {
      const line = document.createElement("p");
      const [name, bar, count] = ["span", "progress", "span"].map((tag) => document.createElement(tag));
      line.className = "row";
      name.textContent = row.name;
      bar.setAttribute("aria-label", row.name);
      if (row.total !== null) {
        bar.max = row.total || 1;
        bar.value = row.done;
      }
      count.className = "count";
      count.textContent = row.shown;
      line.append(name, " ", bar, " ", count);
      return line;
    }));
    at("left").textContent = state.left && at("left").dataset.text.replace("%s", state.left);
    at("lines").replaceChildren(...state.lines.map((said) => {
      const line = document.createElement("li");
      line.className = `${said.event} as-typed`;
      line.textContent = said.text;
      return line;
    }));
  };
}

for (const button of document.querySelectorAll("[data-copy]")) {
  button.hidden = !navigator.clipboard;
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(button.parentElement.querySelector("code").textContent);
    button.textContent = button.dataset.copied;
  });
}

// A file that is chosen or dropped needs no second click.
for (const field of document.querySelectorAll("[data-sends]")) {
  field.addEventListener("change", () => { if (field.files.length) field.form.requestSubmit(); });
}
const form = document.querySelector("[data-drop]");
if (form) {
  const root = document.documentElement;
  const holdsFiles = (event) => event.dataTransfer?.types.includes("Files");
  addEventListener("dragover", (event) => {
    if (!holdsFiles(event)) return;
    event.preventDefault();
    root.dataset.dropping = "";
  });
  addEventListener("dragleave", (event) => { if (!event.relatedTarget) delete root.dataset.dropping; });
  addEventListener("drop", (event) => {
    if (!holdsFiles(event)) return;
    event.preventDefault();
    delete root.dataset.dropping;
    const field = form.querySelector("[data-sends]");
    field.files = event.dataTransfer.files;
    if (field.files.length) form.requestSubmit();
  });
}
