import { type Feature, feature } from '../../core/feature.ts';
import type { DemoPeople } from './demo-ports.ts';

/** Lets the console of a running demo control its simulated people. No document of the API mentions the routes. */
export function demoFeature(people: DemoPeople): Feature {
  return feature({
    name: 'demo',
    routes: {
      sayInDemo: { method: 'POST', path: '/demo/say', key: 'header', access: 'owner' },
      readInDemo: { method: 'POST', path: '/demo/read', key: 'header', access: 'owner' },
      reactInDemo: { method: 'POST', path: '/demo/react', key: 'header', access: 'owner' },
    },
    handlers: async () => (await import('./handlers.ts')).demoHandlers(people),
    open: () => ({ status: () => true }),
  });
}
