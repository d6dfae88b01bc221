  const BIASED = "A figure that was chosen among so many points is biased low: promoting the point draws a fresh seed and measures anew.";
  const MOST_NAMED = 8;
  const facts = (pairs, kind = "") => make("dl", pairs.flatMap(([what, value, between]) =>
    [make("dt", what), make("dd", between ? [value, make("small", between)] : value)]), {class: kind});
  const figure = (column, i, label = column.label) => [label, told(column.at[i], column.unit, 4), ends(column, i)];
  const line_of = (...parts) => make("p", parts, {class: "row"});
  const dominating = (i) => view().frontier.slice(view().from[i], view().to[i]);
  const dominance = (i) => {
    if (!placed(i)) return [];
    const better = dominating(i), risks = risk.at, losses = loss.at;
    let worse = 0;
    for (let j = 0; j < n; j++) if (risks[j] >= risks[i] && losses[j] >= losses[i] && (risks[j] > risks[i] || losses[j] > losses[i])) worse++;
    const beats = `It dominates ${counted(worse)} others.`;
    if (!better.length) return [make("h4", "On the frontier"), make("p", `No other point dominates it. ${beats}`)];
    const named = better.slice(0, MOST_NAMED).map((j) => button(String(NUMBERS[j]), () => choose(j), {"aria-label": `Point ${NUMBERS[j]}`}));
    return [make("h4", `Dominated by ${counted(better.length)} of the frontier`),
      line_of(...named, better.length > MOST_NAMED ? ` and ${counted(better.length - MOST_NAMED)} more` : ""), make("p", beats)];
  };
  const block = (title, text, name, kind) => {
    const body = make("pre", text, {class: kind, tabindex: "0", "aria-label": name, role: "group"});
    const copy = button("Copy", async () => {
      getSelection().selectAllChildren(body);
      try { await navigator.clipboard.writeText(text); } catch { document.execCommand("copy"); }
      copy.textContent = "Copied";
      one("said").textContent = `${name} copied`;
    }, {"aria-label": `Copy the ${name}`});
    return [make("h4", [title, " ", copy], {class: "row"}), body];
  };
  const promotion = (i) => {
    const slug = document.querySelector("h1").textContent.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "") || "sweep";
    const command = `sdcert sweep promote ${raw.sweep} ${NUMBERS[i]} -o params/releases/${slug}-${NUMBERS[i]}.yaml`;
    const lines = raw.releases.of[NUMBERS[i]];
    const file = lines ? block("Release file", lines.map((line) => raw.releases.lines[line]).join("\n") + "\n", "release file", "file")
      : [make("p", "The text of this release file was left out of the page for lack of room; the command writes it.", {class: "soft"})];
    return [...block("To certify it", command, "command", "command"), make("p", BIASED, {class: "warn"}), ...file];
  };
  const nothing = () => [make("h3", "No point chosen"),
    make("p", "Choose a mark on the map or a point in the table to see its figures, what beats it, and the release file that makes it."),
    line_of(...along().slice(0, 1).map((i) => button("Start at the frontier", () => choose(i))))];
  const card = (i, opened) => {
    const of_point = (all) => all.filter((column) => !Number.isNaN(column.at[i])), reason = raw.reason.levels[raw.reason.codes[i]];
    const given = of_point(axes).map((axis) => [axis.label, said(axis, axis.at[i])]);
    const others = views.filter((one) => one !== view()).map((one) => figure(one, i, `Risk by ${one.title}`));
    return [make("h3", [picture_of(i), `Point ${NUMBERS[i]}: ${said(pipeline, pipeline.at[i])}`]),
      line_of(button("\u2190 Frontier", () => walk(along(), -1), {"aria-label": "Previous on the frontier"}),
        button("Frontier \u2192", () => walk(along(), 1), {"aria-label": "Next on the frontier"}), button("Let go", () => choose(-1))),
      facts([figure(risk, i, `Risk: ${risk.label}`), figure(loss, i, `Loss: ${loss.label}`)], "main"),
      facts([...others, ...[policy, status].map((column) => [column.label, said(column, column.at[i])])]), ...(reason ? [make("p", reason, {class: "warn"})] : []),
      make("h4", "Parameters"), given.length ? facts(given) : make("p", "as in the sweep file"),
      ...dominance(i), ...(raw.status.levels[raw.status.codes[i]] === "ok" ? promotion(i) : []),
      ...(figures.length ? [make("details", [make("summary", `All ${figures.length} figures`), facts(of_point(figures).map((one) => figure(one, i)))],
        opened ? {open: ""} : {})] : [])];
  };
  const choose = (i) => {
    state.chosen = i;
    one("point").replaceChildren(...(i < 0 ? nothing() : card(i, one("point").querySelector("details")?.open)));
    one("said").textContent = i < 0 ? "No point chosen"
      : `Point ${NUMBERS[i]}, ${said(pipeline, pipeline.at[i])}, ${parameters(i)}. ${risk_and_loss(i)}. `
        + `${view().on[i] ? "On the frontier. " : ""}Policy ${said(policy, policy.at[i])}.`;
    history.replaceState(null, "", i < 0 ? location.pathname + location.search : `#point-${NUMBERS[i]}`);
    draw_over();
    draw_axes();
    for (const line of one("rows").children) line.classList.toggle("chosen", line.firstChild.textContent === String(NUMBERS[i]));
  };
