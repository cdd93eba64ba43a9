import type { WebhookSummary } from '../../../core/model/status.ts';

export class HubWebhooks {
  constructor(_parts: object) {}
  start(): void {}
  async close(_ms: number): Promise<void> {}
  summaries(): readonly WebhookSummary[] {
    return [];
  }
}
