import { examples } from '../openapi/examples.ts';
import type { ResourceDocument } from '../resource.ts';
import { configSchema, healthSchema, permissionsSchema } from './answers.ts';
import { statusQuery } from './schema.ts';

/** Health, status, settings and permissions in the documents of the API. */
export const DOCUMENT = {
  operations: {
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
  },
  schemas: {
    Config: configSchema,
    Health: healthSchema,
    Permissions: permissionsSchema,
  },
} as const satisfies ResourceDocument;
