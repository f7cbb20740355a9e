"use strict";
(() => {
  const specs = JSON.parse(document.getElementById("specs").textContent);
  const options = {
    mode: "vega-lite",
    renderer: "svg",
    actions: false,
    ast: true, // expressions are interpreted: the page forbids code that is made from text
    defaultStyle: false,
    tooltip: { disableDefaultStyle: true },
  };

  function asRows(columns) {
    const names = Object.keys(columns);
    const length = names.length ? columns[names[0]].length : 0;
    return Array.from({ length }, (_, place) => Object.fromEntries(names.map((name) => [name, columns[name][place]])));
  }

  function draw(figure) {
    if (figure.dataset.drawn) return;
    figure.dataset.drawn = "begun";
    const canvas = figure.querySelector(".canvas");
    const { columns, params, lines, titles } = JSON.parse(canvas.dataset.drawing);
    let text = JSON.stringify(specs[figure.dataset.kind]);
    for (const [mark, title] of Object.entries(titles)) text = text.replaceAll(JSON.stringify(mark), () => JSON.stringify(title || null));
    const spec = JSON.parse(text);
    spec.datasets = { data: asRows(columns) };
    if (lines) spec.height *= lines;
    for (const param of spec.params ?? []) if (param.name in params) param.value = params[param.name];
    window.vegaEmbed(canvas, spec, options).then(
      () => {
        // The canvas has the words; its marks, one by one, would only be noise to a screen reader.
        for (const child of canvas.children) child.setAttribute("aria-hidden", "true");
        figure.dataset.drawn = "yes";
      },
      (error) => {
        figure.dataset.drawn = "failed";
        canvas.textContent = "The chart could not be drawn; its numbers are below.";
        canvas.classList.add("failed");
        figure.querySelector("details").open = true;
        console.error(error);
      },
    );
  }

  // A chart is drawn when it comes near the window: a page of a thousand properties opens at once.
  const figures = [...document.querySelectorAll("figure.chart")];
  const watcher = new IntersectionObserver(
    (seen) => {
      for (const entry of seen) {
        if (entry.isIntersecting) {
          watcher.unobserve(entry.target);
          draw(entry.target);
        }
      }
    },
    { rootMargin: "600px" },
  );
  for (const figure of figures) watcher.observe(figure);

  // Paper shows everything: every chart, and what is folded away.
  let opened = [];
  window.addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("details:not([open])")];
    for (const item of opened) item.open = true;
    for (const figure of figures) draw(figure);
  });
  window.addEventListener("afterprint", () => {
    for (const item of opened) item.open = false;
    opened = [];
  });

  const filter = document.querySelector(".filter");
  const lines = [...document.querySelectorAll(".verdicts li")];
  if (!filter || lines.length < 2) return;
  const buttons = [...filter.querySelectorAll("button")];
  const find = document.getElementById("find");
  const matches = filter.querySelector(".matches");
  const pairs = lines.map((line) => {
    const article = document.getElementById(line.dataset.for);
    return { line, article, words: line.querySelector("a").textContent.toLowerCase() };
  });
  let wanted = "all";

  function apply() {
    const part = find.value.trim().toLowerCase();
    let shown = 0;
    for (const { line, article, words } of pairs) {
      const fits = (wanted === "all" || article.dataset.answer === wanted) && words.includes(part);
      line.hidden = article.hidden = !fits;
      if (fits) shown += 1;
    }
    matches.textContent = shown === pairs.length ? "" : `${shown} of ${pairs.length} shown`;
  }

  for (const button of buttons) {
    button.addEventListener("click", () => {
      wanted = button.dataset.show;
      for (const other of buttons) other.setAttribute("aria-pressed", String(other === button));
      apply();
    });
  }
  find.addEventListener("input", apply);
  filter.hidden = false;
})();
