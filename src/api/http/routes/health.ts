import type { BackendHealth } from '../../../domain/ports/reading.ts';
import type { Health } from '../../../schema/health.ts';
import type { Handlers } from '../router.ts';

export function healthRoutes(health: () => BackendHealth) {
  return {
    getHealth: () => ({ status: 200, body: { status: 'ok', backend: health() } satisfies Health }),
  } satisfies Partial<Handlers>;
}
