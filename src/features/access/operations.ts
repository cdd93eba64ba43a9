import { MADE, type Operation, onePage, STATE_DB } from '../../core/http/openapi/operation.ts';
import { accessExamples as examples } from './examples.ts';
import { approvalQuery, approvalsQuery, approveBody } from './schema/approval-schema.ts';
import { auditQuery } from './schema/audit-schema.ts';
import { keyBody, keyChangesBody, keyCheckQuery, keysQuery, newKeyQuery } from './schema/key-schema.ts';

/** The operations for keys, approvals and the audit log. */
export const ACCESS_OPERATIONS = {
  listKeys: {
    tag: 'Keys',
    summary: 'Limited keys',
    description:
      'Every key made with `POST /keys`: its rights, and what remains of its caps. ' +
      'The owner’s key is not listed, and secrets are not shown.',
    query: keysQuery,
    answers: { 200: { description: 'All of them.', schema: 'Key', isList: true, example: [examples.key] } },
    mistakes: [{ pointer: '?include', message: 'The parameter `include` must be "revoked".' }],
  },
  addKey: {
    tag: 'Keys',
    summary: 'Make a limited key',
    description:
      'Makes a key that may do less than the owner’s: choose a `preset` or `scopes`, and the people it may read and write to. ' +
      'Lists that you omit are empty, and an empty list allows nobody. ' +
      'Only this answer contains the key itself; `include=clients` adds lines to paste into each client.',
    query: newKeyQuery,
    body: { schema: keyBody, example: examples.keyRequest },
    answers: { 201: { description: 'Made.', schema: 'NewKey', example: examples.newKey, headers: MADE } },
    problems: ['too_many_keys', 'chat_db_missing', ...STATE_DB],
    mistakes: [
      { pointer: '/name', message: '`name` is missing.' },
      { pointer: '/approval', message: '`approval` must be one of always, new, never.' },
      { pointer: '?include', message: 'The parameter `include` must be "clients".' },
    ],
  },
  getOwnKey: {
    tag: 'Keys',
    summary: 'The key of this request',
    description:
      'The scopes, lists and caps of the key that makes the request. ' +
      'Every key may ask, so that a program can learn its rights before it tries something.',
    answers: { 200: { description: 'The key.', schema: 'Key', example: examples.key } },
  },
  getKey: {
    tag: 'Keys',
    summary: 'One key',
    description:
      'The rights of one key, its expiry, and what remains of its caps. ' +
      'Its secret is not shown: only the answers that create or rotate a key have it.',
    answers: { 200: { description: 'The key.', schema: 'Key', example: examples.key } },
    problems: ['key_not_found'],
  },
  checkKey: {
    tag: 'Keys',
    summary: 'What a key may do with an address or a conversation; nothing is sent',
    description:
      'Says what would happen if this key sent to an address or a conversation, and whether the key may read that conversation. ' +
      '`send` is `allowed`, `held` for the owner’s decision, or `refused` for the `reason`. ' +
      'Nothing is sent.',
    query: keyCheckQuery,
    answers: { 200: { description: 'Allowed, held or refused.', schema: 'KeyCheck', example: examples.check } },
    problems: ['key_not_found', 'chat_db_missing'],
    mistakes: [{ pointer: '?to', message: 'The parameter `to` is required: an address or a conversation id.' }],
  },
  changeKey: {
    tag: 'Keys',
    summary: 'Change lists, approval, caps, dry run or expiry of a key',
    description:
      'Settings that you omit keep their value, and so does the secret. ' +
      'Name and scopes cannot be changed: make another key for that.',
    body: { schema: keyChangesBody, example: { send: ['+15550100'], approval: 'new' } },
    answers: { 200: { description: 'The key in its current state.', schema: 'Key', example: examples.key } },
    problems: ['key_not_found', 'chat_db_missing', ...STATE_DB],
    mistakes: [{ pointer: '/approval', message: '`approval` must be one of always, new, never.' }],
  },
  rotateKey: {
    tag: 'Keys',
    summary: 'Give a key a new secret; the old one works for another 24 hours',
    description:
      'The answer has the new secret, which is not shown again. ' +
      'The old one works for another 24 hours, so that a program can switch without a gap.',
    answers: { 200: { description: 'The key with its new secret.', schema: 'NewKey', example: examples.newKey } },
    problems: ['key_not_found', ...STATE_DB],
  },
  revokeKey: {
    tag: 'Keys',
    summary: 'Revoke a key at once, with its webhooks and its waiting sends',
    description:
      'The key stops working at once. ' +
      'Its webhooks are removed, and its held and scheduled sends are never sent. ' +
      'With `Prefer: return=representation` the answer has the number of those sends.',
    answers: {
      204: { description: 'Revoked.' },
      200: {
        description: 'Revoked, with `Prefer: return=representation`.',
        schema: 'KeyRevocation',
        example: examples.revocation,
      },
    },
    problems: ['key_not_found', ...STATE_DB],
  },
  listApprovals: {
    tag: 'Approvals',
    summary: 'Sends that wait for a decision, or were decided',
    description:
      'The held sends of limited keys, undecided and decided, newest first; with `state=held` those that expire soonest. If nothing matches and `wait` is set, the ' +
      'request waits up to that many seconds for a match, so that a program need not poll.',
    query: approvalsQuery,
    answers: {
      200: {
        description: 'At most 200.',
        schema: 'Approval',
        isList: true,
        example: [examples.approval],
      },
    },
    mistakes: [{ pointer: '?wait', message: 'The parameter `wait` must be a whole number of seconds, at most 50.' }],
  },
  getApproval: {
    tag: 'Approvals',
    summary: 'One held send; with `wait`, as soon as it is decided',
    description:
      'One held send and its outcome; once it is sent, `message_id` is the id of the message. ' +
      'With `wait` the answer comes as soon as the send is decided, or after that many seconds.',
    query: approvalQuery,
    answers: { 200: { description: 'The approval.', schema: 'Approval', example: examples.approval } },
    problems: ['approval_not_found'],
    mistakes: [{ pointer: '?wait', message: 'The parameter `wait` must be a whole number of seconds, at most 50.' }],
  },
  approveSend: {
    tag: 'Approvals',
    summary: 'Approve a held send: exactly what was shown is sent at once',
    description:
      'Sends exactly what was shown, at once. ' +
      '`shown` is the value from the approval that you read: if the send has changed since, the answer is 409 `approval_changed`, and nothing is sent.',
    body: { schema: approveBody, example: { shown: examples.approval.shown } },
    answers: { 200: { description: 'Approved.', schema: 'Approval', example: examples.approved } },
    problems: ['approval_not_found', 'already_decided', 'approval_changed', 'approval_expired', ...STATE_DB],
    mistakes: [
      {
        pointer: '/shown',
        message: '`shown` is missing. Send the value that `shown` has in the approval that you read.',
      },
    ],
  },
  denySend: {
    tag: 'Approvals',
    summary: 'Deny a held send: it is never sent',
    description:
      'The message is not sent, and its `state` becomes `denied`. ' +
      'A decision is final: the answer to a second one is 409.',
    answers: { 200: { description: 'Denied.', schema: 'Approval', example: examples.denied } },
    problems: ['approval_not_found', 'already_decided', 'approval_expired', ...STATE_DB],
  },
  withdrawSend: {
    tag: 'Approvals',
    summary: 'Withdraw a held send of this key',
    description:
      'Withdraws a send of this key that is still held, so that nobody has to decide on it. ' +
      'After a decision it is too late, and the answer is 409.',
    answers: { 204: { description: 'Withdrawn.' } },
    problems: ['approval_not_found', 'already_decided', 'approval_expired', ...STATE_DB],
  },
  listAudit: {
    tag: 'Keys',
    summary: 'The audit log: who asked for what, and what was decided; without bodies',
    description:
      'Which key asked for what, and what was decided, oldest first. ' +
      'Lines are written once there is a limited key, and kept for 90 days, at most 100,000 of them. ' +
      'For the next page, give the `id` of the last line as `after`; with `order=desc`, `Link` has its URL.',
    query: auditQuery,
    answers: onePage('AuditEntry', examples.audit),
    mistakes: [
      { pointer: '?after', message: 'The parameter `after` must be the id of a line, or 0 to start at the first.' },
    ],
  },
} as const satisfies Readonly<Record<string, Operation>>;
