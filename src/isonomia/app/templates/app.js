"use strict";
(() => {
  // Of all values, only those of the chosen column can be picked.
  for (const column of document.querySelectorAll("select[data-values]")) {
    const values = document.getElementById(column.dataset.values);
    const groups = [...values.querySelectorAll("optgroup")];
    const keep = () => {
      const wanted = groups.find((group) => group.dataset.column === column.value);
      const chosen = wanted && wanted.querySelector("option:checked");
      values.replaceChildren(...(wanted ? [wanted] : []));
      values.disabled = !wanted;
      if (wanted && !chosen) values.selectedIndex = 0;
    };
    column.addEventListener("change", keep);
    keep();
  }

  const back = document.getElementById("back");
  if (back && history.length > 1) {
    back.hidden = false;
    back.addEventListener("click", () => history.back());
  }

  const shown = document.querySelector("[data-state]");
  if (!shown) return;
  const text = document.getElementById("text");
  const bar = document.getElementById("bar");
  const look = async () => {
    const state = await (await fetch(shown.dataset.state)).json();
    if (text.textContent !== state.text) text.textContent = state.text;
    bar.max = state.total || 1;
    bar.value = state.done;
    if (state.next) location.replace(state.next);
    else if (!state.failed) setTimeout(look, 400);
  };
  look();
})();
