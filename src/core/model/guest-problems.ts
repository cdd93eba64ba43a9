import type { ProblemText } from './problem-text.ts';

/** The problems of those who are not the owner. Key: the problem's name. */
export const GUEST_PROBLEMS = {
  recipient_is_name: {
    status: 400,
    detail: 'The recipient is a name, not an address.',
    hint: 'Nothing was sent. Use a number with its country code, an e-mail address or a conversation id; GET /contacts?q= finds the addresses of a person.',
    pointer: '/recipient',
  },
  recipient_not_allowed: {
    status: 403,
    detail: 'This key may not send to this recipient.',
    hint: 'The owner of Postern lists the recipients of a key by complete number, e-mail address or conversation id.',
  },
  attachment_not_allowed: {
    status: 403,
    detail: 'This key may not send files.',
    hint: 'A limited key can send files only from the folders in send.attachment_roots, and that list is empty.',
  },
  webhook_not_allowed: {
    status: 403,
    detail: 'This key may not register a webhook on this host.',
    hint: 'Use http://127.0.0.1 or http://localhost. The owner of Postern can add a host with "postern keys allow KEY --callback-host HOST".',
  },
  webhook_to_postern: {
    status: 403,
    code: 'webhook_not_allowed',
    detail: 'A webhook of this key may not post to Postern itself.',
    hint: 'Use the port of the program that receives the events.',
  },
  webhook_headers_not_allowed: {
    status: 403,
    detail: 'A webhook of this key may not set headers.',
    hint: 'Leave out `headers`. The owner of Postern can register a webhook with headers.',
  },
  webhook_user_not_allowed: {
    status: 403,
    code: 'webhook_headers_not_allowed',
    detail: 'The URL of a webhook of this key may not contain a user name or password, which would become a header.',
    hint: 'Leave them out. The owner of Postern can register a webhook with them.',
  },
  scope_missing: {
    status: 403,
    detail: 'This key may not do this: it needs {needs}.',
    hint: 'The owner of Postern decides what a key may do.',
    example: { needs: 'the scope send' },
    extra: { needs: 'send' },
  },
  key_rate_limited: {
    status: 429,
    code: 'rate_limited',
    detail: 'Too many requests with limited keys: try again in {seconds} s.',
    example: { seconds: 42 },
  },
  too_many_streams: {
    status: 429,
    detail: 'This key already has {max} WebSockets and event streams open.',
    hint: 'Close one that is no longer needed.',
    example: { max: 16 },
  },
} as const satisfies Readonly<Record<string, ProblemText>>;
