"use strict";
// Before the page is drawn, so that it never flashes in the other brightness, or in other letters or numbers.
(function () {
  const html = document.documentElement;
  let theme = null;
  let text = null;
  try {
    theme = localStorage.getItem("blog-exporter theme");
    text = JSON.parse(localStorage.getItem("blog-exporter text"));
  } catch {
    // Some browsers keep nothing for pages opened from a folder.
  }
  if (theme === "dark" || theme === "light") html.dataset.theme = theme;
  for (const name of ["face", "size", "way"]) if (text?.[name]) html.dataset[name] = text[name];

  // Counts have one form on all pages, whatever the browser's language is, and stay in one line with their noun.
  window.blogNumber = function (number) { return number.toLocaleString("en"); };
  window.blogCounted = function (text, number, more = "") {
    return text.replace(/%d( ?)/, function (_, space) { return blogNumber(number) + more + (space && "\u00a0"); });
  };
})();
