import { type Feature, feature } from '../../core/feature.ts';
import type { SimulatedMac } from './mac.ts';

/** Lets the console of a running demo control its simulated people. No document of the API mentions the routes. */
export function demoFeature(mac: SimulatedMac): Feature {
  return feature({
    name: 'demo',
    routes: {
      sayInDemo: { method: 'POST', path: '/demo/say', key: 'header', access: 'owner' },
      readInDemo: { method: 'POST', path: '/demo/read', key: 'header', access: 'owner' },
      reactInDemo: { method: 'POST', path: '/demo/react', key: 'header', access: 'owner' },
    },
    handlers: async () => (await import('./handlers.ts')).demoHandlers(mac),
    open: () => ({ status: () => true }),
  });
}
