import { toast } from '../../parts/toast.ts';
import { call } from '../../service/api.ts';

export const pathOf = (id: string): string => `webhooks/${encodeURIComponent(id)}`;

/** Delivers the dropped events of a webhook again. */
export async function redeliver(id: string): Promise<void> {
  await call(`${pathOf(id)}/replay`, { method: 'POST', body: { dropped: true } });
  toast('Delivering dropped events again');
}
