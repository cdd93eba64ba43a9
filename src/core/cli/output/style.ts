import type { Environment } from '../../config/environment.ts';
import { lookupTable } from '../../model/lookup-table.ts';

export type Style = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan';

/** Applies a style to the text, or none if colours are off. */
export type Paint = (style: Style | undefined, text: string) => string;

const CODES: Readonly<Record<Style, readonly [number, number]>> = {
  bold: [1, 22],
  dim: [2, 22],
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
  cyan: [36, 39],
};

/**
 * Reports whether to use colour. FORCE_COLOR decides if it is set, as in Node. Otherwise a terminal has colour, unless
 * NO_COLOR is set or TERM is `dumb`.
 */
export function isColoured({ env }: Environment, isTerminal: boolean): boolean {
  const { FORCE_COLOR: forced, NO_COLOR: refused, TERM } = env;
  if (forced) return forced !== '0' && forced !== 'false';
  return isTerminal && !refused && TERM !== 'dumb';
}

export function painter(isOn: boolean): Paint {
  return (style, text) => {
    if (!isOn || style === undefined || text === '') return text;
    const [on, off] = CODES[style];
    return `\x1b[${on}m${text}\x1b[${off}m`;
  };
}

/** Styles of words that name a state. Other words have none. */
const STATES: Readonly<Record<string, Style>> = lookupTable({
  healthy: 'green',
  delivered: 'green',
  sent: 'green',
  allowed: 'green',
  ok: 'green',
  held: 'yellow',
  pending: 'yellow',
  paused: 'yellow',
  unknown: 'yellow',
  failing: 'red',
  failed: 'red',
  dropped: 'red',
  denied: 'red',
  refused: 'red',
  void: 'red',
});

export function stateStyle(state: string): Style | undefined {
  return STATES[state.trim()];
}

/** Returns different colours for outgoing and incoming messages. */
export function directionStyle(arrow: string): Style | undefined {
  return arrow.trim() === '→' ? 'green' : 'cyan';
}
