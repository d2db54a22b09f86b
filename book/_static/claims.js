// The filter of the claims ledger. Without this script the whole table is there, and no form.
(() => {
  const form = document.querySelector("form.claims-filter");
  if (!form) return;
  const status = form.querySelector("[role=status]");
  const rows = [...document.querySelectorAll(".claims-table tr[data-verdict]")];
  const parts = [...document.querySelectorAll(".claims-part")];

  const filter = () => {
    const { verdict, part, text } = form.elements;
    const wanted = text.value.trim().toLowerCase();
    for (const row of rows) {
      row.hidden =
        (verdict.value && row.dataset.verdict !== verdict.value) ||
        (part.value && row.dataset.part !== part.value) ||
        !row.textContent.toLowerCase().includes(wanted);
    }
    for (const section of parts) {
      section.hidden = !section.querySelector("tr[data-verdict]:not([hidden])");
    }
    const shown = rows.filter((row) => !row.hidden).length;
    status.textContent = `${shown} of ${rows.length} claims`;
  };

  form.addEventListener("input", filter);
  // the fields are reset only after the event
  form.addEventListener("reset", () => setTimeout(filter));
  form.addEventListener("submit", (event) => event.preventDefault());
  form.hidden = false;
  filter(); // a browser may have kept the choices of the last visit
})();
