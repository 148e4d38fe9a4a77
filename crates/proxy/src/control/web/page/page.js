// Keeps the values of a page up to date. The page is whole without it.
//
// Every value is written as text, never as markup: names come from anybody who connects.
"use strict";

const events = document.body.dataset.events;
const link = document.getElementById("link");
const hold = document.getElementById("hold");
let source = null;
let isHeld = false;
let retry = null;

function setText(element, text) {
  if (element && element.textContent !== text) {
    element.textContent = text;
  }
}

function anchor(made) {
  const a = document.createElement("a");
  a.textContent = made.text;
  // Only paths of this listener.
  if (made.href.startsWith("/") && !made.href.startsWith("//")) {
    a.setAttribute("href", made.href);
  }
  if (made.name) {
    a.setAttribute("aria-label", made.name);
  }
  return a;
}

// A cell is a text, or a text with a class and links. One that is as before keeps its elements, and so the focus.
function setCell(element, cell) {
  const seen = typeof cell === "string" ? cell : JSON.stringify(cell);
  if (element.seen === seen) {
    return;
  }
  element.seen = seen;
  if (typeof cell === "string") {
    setText(element, cell);
    return;
  }
  // As the page has it already.
  const old = Array.from(element.querySelectorAll("a"));
  const links = cell.links || [];
  const isSame = links.length === old.length && links.every((made, at) =>
    made.href === old[at].getAttribute("href") && made.text === old[at].textContent);
  const mark = element.querySelector("span");
  if (isSame && cell.class && mark) {
    setText(mark, cell.text);
    mark.className = cell.class;
    return;
  }
  if (isSame && !cell.class && !cell.text) {
    return;
  }
  element.textContent = cell.class ? "" : cell.text;
  if (cell.class) {
    const span = document.createElement("span");
    span.className = cell.class;
    span.textContent = cell.text;
    element.append(span);
  }
  links.forEach((made, at) => {
    if (at > 0 || cell.text) {
      element.append(" ");
    }
    element.append(anchor(made));
  });
}

function newRow(table, key) {
  const row = document.createElement("tr");
  row.dataset.key = key;
  Array.from(table.tHead.rows[0].cells).forEach((head, at) => {
    const cell = document.createElement(at === 0 ? "th" : "td");
    if (at === 0) {
      cell.scope = "row";
    }
    cell.className = head.className;
    row.append(cell);
  });
  return row;
}

function setTable(shown) {
  const section = document.getElementById(shown.id);
  if (!section) {
    return;
  }
  const table = section.querySelector("table");
  const body = table.tBodies[0];
  const known = new Map(Array.from(body.rows, (row) => [row.dataset.key, row]));
  shown.rows.forEach((made, at) => {
    let row = known.get(made.key);
    known.delete(made.key);
    if (!row) {
      row = newRow(table, made.key);
    }
    // A row that is moved loses the focus: it stays if it can.
    if (body.rows[at] !== row) {
      body.insertBefore(row, body.rows[at] || null);
    }
    made.cells.forEach((cell, column) => setCell(row.cells[column], cell));
  });
  known.forEach((row) => row.remove());
  section.querySelector(".none").hidden = shown.rows.length > 0;
  section.querySelector(".scroll").hidden = shown.rows.length === 0;
}

function show(shown) {
  const state = document.getElementById("state");
  setText(state, shown.state.text);
  state.className = shown.state.class;
  setText(document.getElementById("time"), shown.time);
  const note = document.getElementById("note");
  setText(note, shown.note);
  note.hidden = shown.note === "";
  shown.tiles.forEach((tile) => {
    const value = document.getElementById(tile.id);
    setText(value, tile.text);
    setText(value && value.parentElement.querySelector(".more"), tile.more);
  });
  shown.charts.forEach((chart) => {
    const figure = document.getElementById(chart.id);
    figure.querySelector("polyline").setAttribute("points", chart.points);
    setText(figure.querySelector(".says"), chart.text);
  });
  shown.tables.forEach(setTable);
  // A table that is not there any more has no row.
  const ids = new Set(shown.tables.map((table) => table.id));
  document.querySelectorAll("main section").forEach((section) => {
    if (!ids.has(section.id)) {
      setTable({ id: section.id, rows: [] });
    }
  });
}

function setLink(text) {
  setText(link, text);
  document.getElementById("main").classList.toggle("stale", text !== "");
}

function close() {
  clearTimeout(retry);
  retry = null;
  if (source) {
    source.close();
    source = null;
  }
}

function open() {
  close();
  source = new EventSource(events);
  source.onmessage = (event) => {
    clearTimeout(retry);
    retry = null;
    setLink(isHeld ? "(paused)" : "");
    show(JSON.parse(event.data));
  };
  source.onerror = () => {
    // The browser tries again by itself, unless it was refused. A stream that ends as planned is there again at once.
    if (retry === null) {
      retry = setTimeout(() => {
        setLink("(no connection)");
        open();
      }, 5000);
    }
  };
}

hold.hidden = false;
hold.addEventListener("click", () => {
  isHeld = !isHeld;
  setText(hold, isHeld ? "Go on" : "Pause updates");
  if (isHeld) {
    close();
    setText(link, "(paused)");
  } else {
    open();
  }
});

// A page that nobody sees costs nothing.
document.addEventListener("visibilitychange", () => {
  if (document.hidden) {
    close();
  } else if (!isHeld) {
    open();
  }
});

if (!document.hidden) {
  open();
}
