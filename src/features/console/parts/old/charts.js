// Charts as inline SVG.

import { svg } from './dom.js';

/**
 * Draws a bar that is filled up to `share`, from 0 to 1.
 * @param {number} share
 * @param {string} title
 * @param {string} [kind] `w` if it is nearly used up
 */
export const meter = (share, title, kind = '') =>
  svg(
    'svg',
    { class: 'meter', viewBox: '0 0 100 6', preserveAspectRatio: 'none', role: 'img', 'aria-label': title },
    svg('rect', { class: kind, width: (Math.max(0, Math.min(1, share)) * 100).toFixed(1), height: 6 }),
  );
