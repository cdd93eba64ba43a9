import { accessExamples as examples } from './access-examples.ts';
import { approvalQuery, approvalsQuery, approveBody } from './approval.ts';
import { auditQuery } from './audit.ts';
import { keyBody, keyChangesBody, keyCheckQuery } from './key.ts';
import { CHAT_DB, MADE, type Operation, SENDING, STATE_DB } from './operation.ts';
import { proveBody } from './self-chat.ts';

/** Keys, approvals and the audit log, by their names in `ROUTES`. */
export const ACCESS_OPERATIONS = {
  listKeys: {
    tag: 'Keys',
    summary: 'The keys beside the owner’s',
    answers: { 200: { description: 'All of them.', schema: 'Key', isList: true, example: [examples.key] } },
  },
  addKey: {
    tag: 'Keys',
    summary: 'Make a limited key',
    description:
      'Lists that are not given are empty, and an empty list is nobody. The key itself is only in this answer.',
    body: { schema: keyBody, example: examples.keyRequest },
    answers: { 201: { description: 'Made.', schema: 'NewKey', example: examples.newKey, headers: MADE } },
    problems: ['too_many_keys', 'chat_db_missing', ...STATE_DB],
    mistakes: [
      { pointer: '/name', message: 'The name is missing.' },
      { pointer: '/approval', message: 'The approval must be one of always, new, never.' },
    ],
  },
  getOwnKey: {
    tag: 'Keys',
    summary: 'The key of this request',
    answers: { 200: { description: 'What it may do.', schema: 'Key', example: examples.key } },
  },
  getKey: {
    tag: 'Keys',
    summary: 'One key',
    answers: { 200: { description: 'The key.', schema: 'Key', example: examples.key } },
    problems: ['key_not_found'],
  },
  checkKey: {
    tag: 'Keys',
    summary: 'What a key may do with somebody; nothing is sent',
    query: keyCheckQuery,
    answers: { 200: { description: 'Allowed, held or refused.', schema: 'KeyCheck', example: examples.check } },
    problems: ['key_not_found', 'chat_db_missing'],
    mistakes: [{ pointer: '?to', message: 'The parameter to is required: an address or a conversation id.' }],
  },
  changeKey: {
    tag: 'Keys',
    summary: 'Change lists, approval, caps, dry run or expiry of a key',
    body: { schema: keyChangesBody, example: { send: ['+15550100'], approval: 'new' } },
    answers: { 200: { description: 'The key as it is now.', schema: 'Key', example: examples.key } },
    problems: ['key_not_found', 'chat_db_missing', ...STATE_DB],
    mistakes: [{ pointer: '/approval', message: 'The approval must be one of always, new, never.' }],
  },
  rotateKey: {
    tag: 'Keys',
    summary: 'Give a key a new secret; the old one works for another 24 hours',
    answers: { 200: { description: 'The key with its new secret.', schema: 'NewKey', example: examples.newKey } },
    problems: ['key_not_found', ...STATE_DB],
  },
  revokeKey: {
    tag: 'Keys',
    summary: 'Revoke a key at once, with its webhooks and what waits for a decision',
    answers: { 204: { description: 'Revoked.' } },
    problems: ['key_not_found', ...STATE_DB],
  },
  listApprovals: {
    tag: 'Approvals',
    summary: 'Sends that wait for a decision, or were decided',
    query: approvalsQuery,
    answers: {
      200: {
        description: 'Newest first, at most 200.',
        schema: 'Approval',
        isList: true,
        example: [examples.approval],
      },
    },
    mistakes: [{ pointer: '?wait', message: 'The parameter wait must be a whole number of seconds, at most 50.' }],
  },
  getApproval: {
    tag: 'Approvals',
    summary: 'One held send; with `wait` as soon as it ended',
    query: approvalQuery,
    answers: { 200: { description: 'The approval.', schema: 'Approval', example: examples.approval } },
    problems: ['approval_not_found'],
    mistakes: [{ pointer: '?wait', message: 'The parameter wait must be a whole number of seconds, at most 50.' }],
  },
  approveSend: {
    tag: 'Approvals',
    summary: 'Approve exactly what was shown; it is sent at once',
    body: { schema: approveBody, example: { shown: examples.approval.shown } },
    answers: { 200: { description: 'Approved.', schema: 'Approval', example: examples.approved } },
    problems: ['approval_not_found', 'already_decided', 'approval_changed', 'approval_expired', ...STATE_DB],
    mistakes: [{ pointer: '/shown', message: 'The shown is missing: the one that the approval was read with.' }],
  },
  denySend: {
    tag: 'Approvals',
    summary: 'Decide that it is not sent',
    answers: { 200: { description: 'Denied.', schema: 'Approval', example: examples.denied } },
    problems: ['approval_not_found', 'already_decided', 'approval_expired', ...STATE_DB],
  },
  withdrawSend: {
    tag: 'Approvals',
    summary: 'Take back an own send that waits',
    answers: { 204: { description: 'Withdrawn.' } },
    problems: ['approval_not_found', 'already_decided', 'approval_expired', ...STATE_DB],
  },
  getSelfChat: {
    tag: 'Approvals',
    summary: 'The conversation with yourself in which you decide by tapback',
    answers: { 200: { description: 'What is proved.', schema: 'SelfChat', example: examples.selfChat } },
    problems: ['self_chat_disabled', ...CHAT_DB],
  },
  sendSelfChatCode: {
    tag: 'Approvals',
    summary: 'Write a code into the conversation with yourself',
    answers: { 200: { description: 'Written.', schema: 'SelfChat', example: examples.unprovedSelfChat } },
    problems: ['self_chat_disabled', 'self_chat_unknown', 'self_chat_unseen', ...CHAT_DB, ...SENDING],
  },
  proveSelfChat: {
    tag: 'Approvals',
    summary: 'Prove with the code that the conversation is yours',
    description: 'From then on what waits is written there, and your tapbacks decide.',
    body: { schema: proveBody, example: { code: '482913' } },
    answers: { 200: { description: 'Proved.', schema: 'SelfChat', example: examples.selfChat } },
    problems: ['self_chat_disabled', 'code_wrong', ...CHAT_DB, ...STATE_DB],
    mistakes: [
      { pointer: '/code', message: 'The code is missing: the one that stands in the conversation with yourself.' },
    ],
  },
  listAudit: {
    tag: 'Keys',
    summary: 'Who asked what, and what was decided; without bodies',
    description: 'Written from the first limited key on, for 90 days and at most 100,000 lines.',
    query: auditQuery,
    answers: {
      200: { description: 'Oldest first.', schema: 'AuditEntry', isList: true, example: [examples.audit] },
    },
    mistakes: [{ pointer: '?after', message: 'The parameter after must be the id of a line, 0 for the first.' }],
  },
} as const satisfies Record<string, Operation>;
