// SPDX-License-Identifier: GPL-2.0-or-later
// Text of the page whose colour is too close to the ground behind it.
(() => {
  const number = text => text.match(/[\d.]+/g).slice(0, 3).map(Number);
  const alpha = text => text === 'transparent' ? 0 : Number(text.match(/[\d.]+/g)[3] ?? 1);
  const light = rgb => rgb.map(v => v / 255).map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, at) => sum + v * [0.2126, 0.7152, 0.0722][at], 0);
  const ground = one => {
    for (; one; one = one.parentElement) {
      const colour = getComputedStyle(one).backgroundColor;
      if (alpha(colour) === 1) return number(colour);
    }
    return [255, 255, 255];
  };
  const found = [];
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const one = walk.currentNode.parentElement;
    if (!walk.currentNode.data.trim() || one.closest('svg')) continue;
    const both = [light(number(getComputedStyle(one).color)), light(ground(one))].sort((a, b) => b - a);
    const ratio = (both[0] + 0.05) / (both[1] + 0.05);
    if (ratio < 4.5) found.push([walk.currentNode.data.trim().slice(0, 40), ratio]);
  }
  return found;
})()
