"use strict";
(() => {
  const root = document.documentElement;
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];

  // Light or dark: what the system says, until the button says otherwise.
  const remember = (theme) => {
    try {
      localStorage.setItem("rageval-theme", theme);
    } catch { /* a browser may forbid files to remember anything */ }
  };
  for (const button of all("[data-theme-button]")) {
    button.addEventListener("click", () => {
      const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
      root.dataset.theme = dark ? "light" : "dark";
      remember(root.dataset.theme);
    });
  }

  // The contents show where the reader is: that section is marked, and of many chapters only its own is open.
  const contents = document.querySelector("nav details.contents");
  const chapters = contents ? all("details.chapter", contents) : [];
  const many = chapters.length > 2;
  const marked = new Map(contents ? all("a", contents).map((link) => [link.hash.slice(1), link]) : []);
  const seen = new IntersectionObserver((entries) => {
    for (const { isIntersecting, target } of entries) {
      if (!isIntersecting) continue;
      for (const [id, link] of marked) {
        if (id === target.id) link.setAttribute("aria-current", "location");
        else link.removeAttribute("aria-current");
      }
      const own = marked.get(target.id).closest("details.chapter");
      if (many) for (const chapter of chapters) chapter.open = chapter === own;
    }
  }, { rootMargin: "-12% 0px -80% 0px" });
  for (const section of all("main section")) if (marked.has(section.id)) seen.observe(section);

  // Tables: a click on a heading sorts, nulls last; a text in the filter hides the rows that do not have it.
  const exact = (cell) => cell.dataset.v ?? cell.textContent.trim();
  const compare = (a, b) => {
    const [x, y] = [exact(a), exact(b)];
    const [noX, noY] = [x === "–" || x === "", y === "–" || y === ""];
    if (noX || noY) return { empty: noX - noY };
    const [m, n] = [Number(x.replaceAll(",", "")), Number(y.replaceAll(",", ""))];
    return { order: Number.isNaN(m) || Number.isNaN(n) ? x.localeCompare(y) : m - n };
  };
  const most = 14; // columns of a table on paper; of more, each cell names its own
  for (const table of all("table.data")) {
    const headings = all("thead th", table);
    if (headings.length > most) {
      for (const row of table.tBodies[0].rows) [...row.cells].forEach((cell, k) => { cell.dataset.label = headings[k].textContent.trim(); });
    }
    headings.forEach((heading, column) => {
      if (heading.dataset.plain !== undefined || heading.querySelector("a")) return;
      const button = document.createElement("button");
      button.type = "button";
      button.append(...heading.childNodes);
      heading.append(button);
      button.addEventListener("click", () => {
        const number = heading.classList.contains("num");
        const now = heading.getAttribute("aria-sort");
        const down = now ? now === "ascending" : number;
        headings.forEach((other) => other.removeAttribute("aria-sort"));
        heading.setAttribute("aria-sort", down ? "descending" : "ascending");
        const body = table.tBodies[0];
        const rows = [...body.rows].sort((a, b) => {
          const found = compare(a.cells[column], b.cells[column]);
          return found.empty !== undefined ? found.empty : down ? -found.order : found.order;
        });
        body.append(...rows);
      });
    });
  }
  for (const input of all("input[data-filter]")) {
    const block = input.closest(".block");
    const rows = all("tbody tr", block);
    const said = document.createElement("p");
    said.className = "note";
    said.setAttribute("role", "status");
    block.querySelector(".scroll").after(said);
    input.addEventListener("input", () => {
      const wanted = input.value.trim().toLowerCase();
      for (const row of rows) row.hidden = !row.textContent.toLowerCase().includes(wanted);
      const left = rows.filter((row) => !row.hidden).length;
      said.textContent = !wanted ? "" : left ? `${left} of the ${rows.length} rows here match.` : `None of the ${rows.length} rows here matches.`;
    });
  }

  // Picked rows are part of the address: lists keep them when they are sorted, filtered and paged.
  for (const form of all("form[data-picks]")) {
    const boxes = all("input[name=pick]", form);
    const keep = () => {
      const picks = boxes.filter((box) => box.type === "hidden" || box.checked).map((box) => box.value);
      const kept = (address) => {
        const url = new URL(address, location.href);
        url.searchParams.delete("pick");
        for (const pick of picks) url.searchParams.append("pick", pick);
        return url.pathname + url.search;
      };
      for (const link of all("thead a, .pages a", form)) link.setAttribute("href", kept(link.href));
      for (const other of all("form[data-keeps-picks]")) {
        for (const old of all("input[name=pick]", other)) old.remove();
        for (const pick of picks) {
          const field = document.createElement("input");
          field.type = "hidden";
          field.name = "pick";
          field.value = pick;
          other.append(field);
        }
      }
      history.replaceState(null, "", kept(location.href));
    };
    for (const box of boxes) box.addEventListener("change", keep);
  }

  // Copies: what a table holds, unrounded; a text that a spreadsheet would run gets an apostrophe.
  const copy = async (text, button) => {
    let done = true;
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      const area = document.createElement("textarea");
      area.value = text;
      document.body.append(area);
      area.select();
      done = document.execCommand("copy");
      area.remove();
    }
    const said = button.textContent;
    button.textContent = done ? "Copied" : "Cannot copy";
    setTimeout(() => { button.textContent = said; }, 1200);
  };
  const quoted = (value, number) => {
    const formula = /^(?:[\t\r\n]|[\0- \x7f-\xa0\xad\u1680\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\ufeff]*[=+@＝＋－＠\-])/.test(value);
    const plain = value === "==" || /^[+\-]?(\d+\.?\d*|\.\d+)(e[+\-]?\d+)?$/i.test(value);
    const safe = !number && formula && !plain ? `'${value}` : value;
    return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  };
  const csv = (table) => {
    const columns = all("thead th", table).map((heading, k) => [heading, k]).filter(([heading]) => heading.dataset.plain === undefined);
    const lines = [columns.map(([heading]) => quoted(heading.dataset.name ?? heading.textContent.trim())).join(",")];
    for (const row of table.tBodies[0].rows) {
      if (row.hidden) continue;
      lines.push(columns.map(([, k]) => {
        const value = exact(row.cells[k]);
        return value === "–" ? "" : quoted(value, row.cells[k].classList.contains("num"));
      }).join(","));
    }
    return lines.join("\n") + "\n";
  };
  for (const button of all("[data-csv]")) {
    button.addEventListener("click", () => copy(csv(button.closest(".block").querySelector("table.data")), button));
  }
  for (const button of all("[data-sql]")) {
    button.addEventListener("click", () => copy(button.parentElement.querySelector("code").textContent, button));
  }

  // Tooltips of figures.
  const tip = document.createElement("div");
  tip.id = "tip";
  tip.hidden = true;
  tip.setAttribute("role", "status");
  document.body.append(tip);
  document.addEventListener("pointerover", (event) => {
    const about = event.target.closest?.("[data-t], svg.small");
    tip.hidden = !about;
    if (about) tip.textContent = about.dataset.t ?? about.getAttribute("aria-label");
  });
  document.addEventListener("pointermove", (event) => {
    if (tip.hidden) return;
    tip.style.left = `${Math.min(event.clientX + 12, innerWidth - tip.offsetWidth - 8)}px`;
    tip.style.top = `${Math.min(event.clientY + 14, innerHeight - tip.offsetHeight - 8)}px`;
  });

  // A query that still runs is asked for again, unless the reader is writing another.
  if (document.querySelector("[data-reload]")) {
    // Not a reload, which would keep the place of the heading on the screen, and so begin below the top.
    const again = location.href.split("#")[0];
    setTimeout(() => { if (document.activeElement?.name !== "q") location.replace(again); }, 1000);
  }

  // The names at the side of the SQL page go into the query.
  const query = document.querySelector("textarea[name=q]");
  for (const button of all("button[data-insert]")) {
    button.addEventListener("click", () => {
      query.setRangeText(button.dataset.insert, query.selectionStart, query.selectionEnd, "end");
      query.focus();
    });
  }
  query?.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) query.form.requestSubmit();
  });
})();
