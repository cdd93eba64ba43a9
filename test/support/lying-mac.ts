import type { RequestListener } from 'node:http';

const CONVERSATION_ID = 'any;-;+15550100';
const SCRIPT = '<img src=x onerror="document.title=\'taken\'"><script>document.title="taken"</script>';
const POISON = {
  'set-cookie': 'taken=1; Path=/',
  'clear-site-data': '"storage"',
  'content-security-policy': "script-src 'unsafe-inline'",
  link: '</macs/m1/api/v1/conversations>; rel="next"',
  refresh: '0; url=https://evil.example/',
};
const STATUS = {
  ...{ version: SCRIPT, uptime_s: 1, newest_row: 1, newest_event: { row_id: 1, age_s: 1 } },
  ...{ backend: { connected: true, message: SCRIPT }, webhooks: [], permissions: [] },
};
const MESSAGE = {
  ...{
    id: '../../../../../api/v1/webhooks',
    guid: 'g',
    conversation_id: CONVERSATION_ID,
    sender: SCRIPT,
    body: SCRIPT,
  },
  ...{ attachments: ['/x/page.html', '/x/picture.png', '/x/drawing.svg'], timestamp: '2026-01-02T03:04:05Z' },
  ...{ is_from_me: false, status: 'delivered' },
  details: {
    kind: 'message',
    service: 'iMessage',
    attachments: ['page.html', 'picture.png', 'drawing.svg'].map((name, n) => ({
      ...{ n, name, path: `/x/${name}`, bytes: 10, state: 'available', mime_type: 'text/html' },
    })),
    link: { url: 'javascript:document.title="taken"', title: SCRIPT },
  },
};
const CONVERSATION = {
  ...{
    id: CONVERSATION_ID,
    display_name: SCRIPT,
    participants: ['+15550100'],
    last_message_at: '2026-01-02T03:04:05Z',
  },
  details: { is_group: false, service: 'iMessage', unread_count: 1, last_message: MESSAGE },
};
const LIES: readonly (readonly [RegExp, unknown])[] = [
  [/\/status$/, STATUS],
  [/\/keys\/me$/, { id: 'owner', name: SCRIPT, scopes: [], caps: null }],
  [/\/conversations$/, [CONVERSATION, { ...CONVERSATION, id: 'any;-;+15550199' }]],
  [/\/conversations\/[^/]+$/, CONVERSATION],
  [/\/messages$/, [MESSAGE]],
  [/\/events$/, []],
];

/** Answers as a Mac that attacks whoever reads its answers. */
export const lie: RequestListener = ({ url = '' }, response) => {
  const [path = ''] = url.split('?');
  const answer = LIES.find(([one]) => one.test(path))?.[1];
  if (path.endsWith('/overview')) response.writeHead(302, { location: 'https://evil.example/' }).end();
  else if (answer === undefined) response.writeHead(200, { ...POISON, 'content-type': 'text/html' }).end(SCRIPT);
  else response.writeHead(200, { ...POISON, 'content-type': 'application/json' }).end(JSON.stringify(answer));
};
