/**
 * Looks at the page as its reader would: does it scroll sideways, can its text be read, can it be
 * used by keyboard. Sent to the page as text, so it stands alone.
 */
(() => {
  const canvas = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });

  /** @param {string} color any form that a style can have @returns {number[]} r, g, b, alpha */
  const parse = (color) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = "#000";
    canvas.fillStyle = color;
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const over = (top, below) =>
    top.map((part, at) => (at < 3 ? part * top[3] + below[at] * (1 - top[3]) : 1));
  const luminance = (rgb) => {
    const [r, g, b] = rgb.map((part) => {
      const share = part / 255;
      return share <= 0.03928 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = (a, b) => {
    const [high, low] = [luminance(a), luminance(b)].toSorted((x, y) => y - x);
    return (high + 0.05) / (low + 0.05);
  };
  const groundOf = (element) => {
    const layers = [];
    for (let at = element; at !== null; at = at.parentElement) {
      const color = parse(getComputedStyle(at).backgroundColor);
      if (color[3] > 0) layers.push(color);
      if (color[3] === 1) break;
    }
    return layers.toReversed().reduce((below, top) => over(top, below), [255, 255, 255, 1]);
  };
  const isVisible = (element) => {
    const box = element.getBoundingClientRect();
    return box.width > 1 && box.height > 1 && element.checkVisibility({ opacityProperty: true });
  };

  const faint = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
    const element = node.parentElement;
    const text = node.nodeValue.trim();
    if (text === "" || element.closest("svg, script, noscript, .visually-hidden, .skip") !== null)
      continue;
    if (!isVisible(element)) continue;
    const style = getComputedStyle(element);
    const ground = groundOf(element);
    const ratio = contrast(over(parse(style.color), ground), ground);
    const size = Number.parseFloat(style.fontSize);
    const isLarge = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    if (ratio < (isLarge ? 3 : 4.5)) faint.push(`"${text.slice(0, 30)}" ${ratio.toFixed(2)}`);
  }

  const width = document.documentElement.clientWidth;
  const wide = [...document.body.querySelectorAll("*")]
    .filter((element) => isVisible(element) && element.getBoundingClientRect().right > width + 1)
    .map((element) => `${element.tagName.toLowerCase()}.${element.className}`);
  const unnamed = [...document.querySelectorAll("button, a[href], summary, [role=img]")]
    .filter((element) => isVisible(element))
    .filter((element) => (element.ariaLabel ?? element.textContent ?? "").trim() === "")
    .map((element) => element.outerHTML.slice(0, 60));
  return {
    scrollsSideways: document.documentElement.scrollWidth > width,
    wide: wide.slice(0, 5),
    faint: [...new Set(faint)].slice(0, 8),
    unnamed,
    headings: document.querySelectorAll("h1").length,
    language: document.documentElement.lang,
  };
})();
