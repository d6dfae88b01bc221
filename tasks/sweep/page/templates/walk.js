  const zoom_to = (window) => { state.zoom = window; draw_map(); };
  const zoom_by = (times, [x, y] = ["x", "y"].map((axis) => (area.window[axis][0] + area.window[axis][1]) / 2)) => {
    const nearer = (ends, middle) => ends.map((end) => middle + (end - middle) / times);
    zoom_to({x: nearer(area.window.x, x), y: nearer(area.window.y, y)});
  };
  const nearest = (x, y) => {
    let found = -1, least = NEAR ** 2;
    const {on} = view(), {xs, ys} = area;
    for (const i of passing) {
      const away = (xs[i] - x) ** 2 + (ys[i] - y) ** 2 - on[i];
      const inside = xs[i] >= ROOM.left && xs[i] <= area.width - ROOM.right && ys[i] >= ROOM.top && ys[i] <= area.height - ROOM.bottom;
      if (away < least && inside) [found, least] = [i, away];
    }
    return found;
  };
  const hover = (i, x, y) => {
    const box = one("map").querySelector(".hint");
    box.hidden = i < 0;
    if (i !== state.hovered) {
      state.hovered = i;
      draw_over();
    }
    if (i < 0) return;
    const title = make("strong", [picture_of(i), ` ${NUMBERS[i]}: ${said(pipeline, pipeline.at[i])}`]);
    box.replaceChildren(title, make("span", parameters(i)), make("span", risk_and_loss(i)));
    box.style.left = `${Math.max(0, Math.min(x + 16, area.width - box.offsetWidth - 4))}px`;
    box.style.top = `${y + box.offsetHeight + 20 > area.height ? y - box.offsetHeight - 14 : y + 16}px`;
  };
  // begin: takes a press at a place or not; move: also without a press, with no start; end: with no place where it was broken off.
  const follow_pointer = (holder, {begin = () => true, move, end}) => {
    let start = null;
    const place = (event) => { const box = holder.getBoundingClientRect(); return [event.clientX - box.left, event.clientY - box.top]; };
    const finish = (now) => { const from = start; start = null; if (from) end(now, from); };
    holder.addEventListener("pointerdown", (event) => {
      if (event.button !== 0 || !begin(place(event))) return;
      start = place(event);
      holder.setPointerCapture(event.pointerId);
    });
    holder.addEventListener("pointermove", (event) => move(place(event), start));
    holder.addEventListener("pointerup", (event) => finish(place(event)));
    holder.addEventListener("pointercancel", () => finish(null));
    return place;
  };
  const is_drag = (now, start) => Math.hypot(now[0] - start[0], now[1] - start[1]) > 6;
  const brush = (now, start) => {
    const [[left, top], [right, bottom]] = [Math.min, Math.max].map((end) => from_pixels(end(now[0], start[0]), end(now[1], start[1])));
    if (one("drag").value === "zoom") return zoom_to({x: [left, right], y: [bottom, top]});
    limit("loss", [unscaled("x", left), unscaled("x", right)]);
    filter_by("risk", [unscaled("y", bottom), unscaled("y", top)]);
  };
  const follow_map = () => {
    const map = one("map"), place = follow_pointer(map, {
      move: (now, start) => {
        if (!start) return hover(nearest(...now), ...now);
        hover(-1);
        if (!is_drag(now, start)) return;
        area.box = {x: Math.min(start[0], now[0]), y: Math.min(start[1], now[1]), width: Math.abs(start[0] - now[0]), height: Math.abs(start[1] - now[1])};
        draw_over();
      },
      end: (now, start) => {
        area.box = null;
        if (now && is_drag(now, start)) brush(now, start);
        else if (now) choose(nearest(...now));
        draw_over();
      },
    });
    map.addEventListener("pointerleave", () => hover(-1));
    map.addEventListener("wheel", (event) => {
      if (!event.ctrlKey) return;
      event.preventDefault();
      zoom_by(event.deltaY < 0 ? 1.25 : 0.8, from_pixels(...place(event)));
    }, {passive: false});
    map.addEventListener("keydown", (event) => {
      if (!KEYS[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      KEYS[event.key]();
    });
  };

  const along = () => view().frontier.filter((i) => mask[i]);
  const by_risk = () => passing.filter(placed).sort((a, b) => risk.at[a] - risk.at[b] || loss.at[a] - loss.at[b]);
  const walk = (points, by) => {
    const away = (i) => Math.hypot(area.xs[i] - area.xs[state.chosen], area.ys[i] - area.ys[state.chosen]), at = points.indexOf(state.chosen);
    if (at >= 0) choose(points[at + by] ?? state.chosen);
    else if (points.length) choose(state.chosen < 0 ? points[0] : points.reduce((best, i) => away(i) < away(best) ? i : best));
  };
  const KEYS = {
    ArrowRight: () => walk(along(), 1), ArrowLeft: () => walk(along(), -1), ArrowUp: () => walk(by_risk(), 1), ArrowDown: () => walk(by_risk(), -1),
    Home: () => choose(along()[0] ?? -1), End: () => choose(along().at(-1) ?? -1), "+": () => zoom_by(1.5), "=": () => zoom_by(1.5), "-": () => zoom_by(1 / 1.5),
    0: () => zoom_to(null), Escape: () => choose(-1), Enter: () => one("point").focus(),
  };
