import { examples } from './examples.ts';

const at = '2026-11-22T15:00:00Z';

/** Examples of the answers from which the console builds its home page. */
export const homeExamples = {
  overview: {
    status: examples.status,
    since: '2026-11-01T08:12:40Z',
    day: '2026-11-22T00:00:00Z',
    events: {
      since: '2026-11-22T00:00:00Z',
      today: 1284,
      minutes: [{ at, counts: { received: 4, sent: 1, reactions: 1 } }],
    },
    sends: { since: '2026-11-22T00:00:00Z', today: { sent: 86, held: 3, failed: 1, refused: 5 } },
    webhooks: [
      {
        id: examples.webhook.id,
        name: 'Home Assistant',
        origin: 'http://homeassistant.local:8123',
        state: 'healthy',
        behind: 0,
        points: [{ at, counts: { delivered: 17, retried: 1 } }],
        median_ms: 38,
        p95_ms: 120,
      },
    ],
    host: {
      macos: 'macOS 26.1',
      memory_bytes: 84_000_000,
      disk_free: 214_000_000_000,
      disk_total: 512_000_000_000,
      chat_db_bytes: 1_900_000_000,
      upload_bytes: 0,
    },
  },
  statistics: {
    by: 'hour',
    since: '2026-11-01T08:12:40Z',
    points: [
      { at: '2026-11-22T14:00:00Z', counts: { received: 61, sent: 22 } },
      { at, counts: { received: 70, sent: 18, changes: 31 } },
    ],
  },
  config: {
    settings: [
      {
        key: 'server.port',
        value: 3001,
        default: 3001,
        is_default: true,
        needs_restart: true,
        description: 'The TCP port of the HTTP server. 0 takes any free one; the log says which.',
      },
    ],
  },
};
