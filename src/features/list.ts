import type { Feature } from '../core/feature.ts';
import { bluebubbles } from './bluebubbles/feature.ts';
import { canary } from './canary/feature.ts';
import { fleet } from './fleet/feature.ts';
import { scheduled } from './scheduled/feature.ts';

/** The features of the Postern of a Mac, in the order in which they are opened. */
export const FEATURES: readonly Feature[] = [scheduled, fleet, bluebubbles, canary];
