"use strict";
// What must be known before the first picture is drawn, lest it jump: the colours that were chosen, and what is folded.
(() => {
  const root = document.documentElement;
  root.classList.add("scripted");
  try {
    const chosen = localStorage.getItem("rageval-theme");
    if (chosen === "light" || chosen === "dark") root.dataset.theme = chosen;
  } catch { /* a browser may forbid files to remember anything */ }
  const contents = document.querySelector("nav details.contents");
  if (!contents) return;
  if (matchMedia("(max-width: 60rem)").matches) contents.open = false;
  const chapters = contents.querySelectorAll("details.chapter");
  if (chapters.length > 2) for (const chapter of chapters) chapter.open = false;
})();
