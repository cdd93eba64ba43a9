import { statusQuery } from '../../schema/status-request.ts';
import { examples } from './examples.ts';
import type { Operation } from './operation.ts';

/** The operations for the service itself. */
export const SERVICE_OPERATIONS = {
  getHealth: {
    tag: 'Service',
    summary: 'Whether chat.db can be read, and if not, why',
    description:
      'Needs no key, for uptime monitors. ' +
      'The answer is 200 while the service runs: `backend.connected` says whether chat.db can be read, and `backend.message` why not.',
    answers: { 200: { description: 'The Health record.', schema: 'Health', example: examples.health } },
  },
  getStatus: {
    tag: 'Service',
    summary: 'Version, newest row and event, webhooks, permissions',
    description:
      'What the service knows about itself, for monitoring: how far it has read, its webhooks, its permissions and its search index. ' +
      'With `as=swiftbar` or `as=xbar` the answer is the text that these menu bar programs show.',
    query: statusQuery,
    answers: {
      200: { description: 'State of the service.', schema: 'Status', example: examples.status, type: 'text/plain' },
    },
    mistakes: [{ pointer: '?as', message: 'The parameter `as` must be "swiftbar" or "xbar".' }],
  },
  getConfig: {
    tag: 'Service',
    summary: 'Every setting of config.toml with its value and default',
    description:
      'The settings of the running service, without the key. ' +
      'The service reads the file only when it starts: to change a setting, edit the file and restart.',
    answers: { 200: { description: 'The settings.', schema: 'Config', example: examples.config } },
  },
  checkPermissions: {
    tag: 'Service',
    summary: 'Let the service check its permissions; macOS may show a dialog',
    description:
      'The service itself checks, because macOS grants permissions to programs and not to people. ' +
      'For a missing permission, macOS shows a dialog on the Mac’s screen; the answer comes within 20 seconds, even if nobody has clicked.',
    answers: { 200: { description: 'The permissions.', schema: 'Permissions', example: examples.permissions } },
  },
  getMetrics: {
    tag: 'Service',
    summary: 'Metrics for Prometheus',
    description:
      'Counters and states of requests, sends, events and webhooks, in the text format that Prometheus reads. ' +
      'No label holds an address.',
    answers: { 200: { description: 'The text format.', type: 'text/plain' } },
  },
} as const satisfies Record<string, Operation>;
