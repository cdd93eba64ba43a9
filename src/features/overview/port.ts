import type { Port } from '../../core/model/port.ts';
import type { HomePage } from './home-page.ts';

/** Only the owner has it, because it counts for all keys. */
export const OVERVIEW: Port<HomePage> = { name: 'the overview', narrow: () => undefined };
