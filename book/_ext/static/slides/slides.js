// Show the page as slides when its address ends in `?slides`. Figures, code, formulas, tables,
// questions and live cells each become a slide; sentences in bold become points; all the text
// becomes the notes of the speaker's window (key S).
"use strict";
(() => {
  const WIDTH = 1280, HEIGHT = 720, ROOM = 560; // what a slide has, and what is left under a title
  const folder = document.currentScript.src.replace(/slides\/slides\.js.*$/, "");
  const THINGS = "figure, .cell, .live-cell, div.math, table, .admonition, .exercise, pre, img";
  const LEFT_OUT = ".solution, .fedlab-download, .sd-dropdown, script, h1, h2, h3, .target";

  function make(tag, properties = {}, ...children) {
    const element = Object.assign(document.createElement(tag), properties);
    element.append(...children);
    return element;
  }

  const load = (address) => new Promise((done, fail) => {
    const style = address.endsWith(".css");
    const file = style ? make("link", { rel: "stylesheet", href: folder + address })
      : make("script", { src: folder + address });
    Object.assign(file, { onload: done, onerror: () => fail(new Error(`${address} is missing`)) });
    document.head.append(file);
  });

  function slide(title) {
    const body = make("div", { className: "slide-body bd-content bd-article" });
    const notes = make("aside", { className: "notes" });
    const section = make("section", {}, make("h1", { textContent: title }), body, notes);
    return { section, body, notes, full: false };
  }

  // Cut a section of the page into slides; its own sections follow.
  function cut(section) {
    const heading = section.querySelector(":scope > :is(h1, h2, h3)").cloneNode(true);
    heading.querySelector(".headerlink")?.remove();
    const title = heading.textContent;
    if (title.endsWith("For researchers")) return [];
    const slides = [slide(title)], inner = [];
    let lead = "";
    const last = (full) => {
      const old = slides.at(-1);
      if (old.full || (full && old.body.children.length)) slides.push(slide(title));
      slides.at(-1).full = full;
      return slides.at(-1);
    };
    for (const block of [...section.children]) {
      if (block.matches("section")) inner.push(...cut(block));
      else if (block.matches(LEFT_OUT)) continue;
      else if (block.matches("p")) {
        for (const point of block.querySelectorAll("strong")) {
          if (point.textContent.length > 20) last(false).body.append(clone("p", point));
        }
        lead = leading(block);
        slides.at(-1).notes.append(block);
      } else if (block.matches("ul, ol")) {
        last(false).body.append(shortened(block));
      } else if (block.matches(THINGS) || block.querySelector(THINGS)) {
        if (!shown(block)) continue;
        const target = last(!block.matches("div.math"));
        if (lead) target.body.append(lead);
        target.body.append(block);
        lead = "";
      }
    }
    const kept = slides.filter(({ body }) => body.children.length || section.querySelector("h1"));
    return [...kept.map((one) => one.section), ...inner];
  }

  // A point ends as a sentence, wherever the text goes on.
  function clone(tag, part) {
    const copy = part.cloneNode(true), end = copy.lastChild;
    if (end.nodeType === Node.TEXT_NODE) end.data = end.data.replace(/[,;:]$/, ".");
    return make(tag, {}, copy);
  }

  // The sentence that announces what comes next.
  function leading(block) {
    if (!block.textContent.trim().endsWith(":")) return "";
    const lead = block.cloneNode(true), text = [...lead.childNodes];
    for (let i = text.length - 1; i >= 0; i -= 1) {
      const at = text[i].nodeType === Node.TEXT_NODE && text[i].data.search(/[.?!)]\s+[^.?!]*$/);
      if (at === false || at < 0) continue;
      text[i].data = text[i].data.slice(at + 1).trimStart();
      text.slice(0, i).forEach((node) => node.remove());
      break;
    }
    lead.classList.add("slide-lead");
    return lead;
  }

  function shortened(list) {
    for (const item of list.querySelectorAll(":scope > li")) {
      const point = item.querySelector("strong");
      if (point && point.textContent.length > 20) item.replaceChildren(clone("p", point));
    }
    return list;
  }

  // Take folded code out of a block; false if nothing is left. To reveal.js a section is a slide.
  function shown(block) {
    block.querySelectorAll("details.hide").forEach((fold) => fold.remove());
    for (const part of block.querySelectorAll("section")) part.replaceWith(...part.childNodes);
    return Boolean(block.textContent.trim() || block.querySelector("svg, img"));
  }

  // Make what is too high smaller, down to a half; the rest scrolls.
  function fit(section) {
    const body = section?.querySelector(".slide-body");
    if (!body) return;
    body.style.zoom = 1;
    const zoom = Math.max(0.5, Math.min(1, ROOM / body.scrollHeight));
    Object.assign(body.style, { zoom, maxHeight: `${Math.ceil(ROOM / zoom) + 4}px` });
  }

  async function start() {
    const slides = make("div", { className: "slides" });
    slides.append(...cut(document.querySelector(".bd-article > section")));
    const back = { className: "slide-back", href: location.pathname, textContent: "Text" };
    for (const part of document.body.children) part.hidden = true; // the theme's scripts need it
    document.querySelector("[data-bs-spy]")?.removeAttribute("data-bs-spy"); // follows no slides
    document.body.append(make("main", {}, make("div", { className: "reveal" }, slides),
      make("a", back)));
    await Promise.all(["vendor/reveal/reveal.css", "slides/slides.css", "vendor/reveal/reveal.js",
      "vendor/reveal/notes.js"].map(load));
    await window.MathJax?.startup.promise;
    for (const event of ["ready", "slidechanged"]) {
      Reveal.on(event, ({ currentSlide }) => fit(currentSlide));
    }
    Reveal.on("pdf-ready", () => slides.querySelectorAll("section").forEach(fit));
    await Reveal.initialize({ width: WIDTH, height: HEIGHT, margin: 0.04, center: false,
      hash: true, pdfMaxPagesPerSlide: 1, transition: "none", slideNumber: "c/t",
      plugins: [RevealNotes] });
  }

  addEventListener("DOMContentLoaded", () => {
    if (new URLSearchParams(location.search).has("slides")) start();
  });
})();
