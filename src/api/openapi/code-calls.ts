import type { RouteId } from '../../schema/routes.ts';
import { accessExamples } from './access-examples.ts';
import { examples } from './examples.ts';

/**
 * Values that the code samples of an operation need besides its route in `ROUTES` and the example of its request body.
 */
export interface CodeCall {
  readonly path?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  /** A file to send. */
  readonly file?: string;
  /** The file to write the answer to. */
  readonly download?: string;
  /** True if the answer has no end. */
  readonly isStream?: true;
  /** The operation that the samples in curl and Python call instead, because they cannot open a WebSocket. */
  readonly overHttp?: 'listEvents';
  /** How the samples read an answer that is not JSON. `nothing` means that they print only the status. */
  readonly reads?: 'text' | 'nothing';
  /** Code that uses the typed client `postern`. `$id` and `$body` stand for the id and body of the request. */
  readonly typeScript: string;
  readonly imports?: readonly string[];
  /** True if the operation works only over the Unix socket, whose path is in `SOCKET`. */
  readonly isOverSocket?: true;
  /** Python code to show instead of the code that is generated from the request. */
  readonly python?: string;
  /**
   * True if the typed client has no method for the operation. `typeScript` then calls `fetch`, and `$url` in it stands
   * for the URL of the request.
   */
  readonly isPlainFetch?: true;
}

const message = { id: examples.sent.id };
const conversation = { id: examples.conversation.id };
const webhook = { id: examples.webhook.id };
const key = { id: accessExamples.key.id };
const approval = { id: accessExamples.approval.id };
export const NO_OUTPUT = { reads: 'nothing' } as const;

export function printed(expression: string): { readonly typeScript: string } {
  return { typeScript: `console.log(await postern.${expression});` };
}

/** TypeScript that prints events for as long as the program runs. */
const LISTENING =
  'for await (const event of postern.listen({ after: 1204 })) {\n  console.log(event.type, event.data);\n}';

/** The calls that the code samples show. Key: the operation's name in `ROUTES`. */
export const CODE_CALLS = {
  getHealth: printed('health()'),
  sendMessage: printed('send($body)'),
  listMessages: {
    query: { conversation_id: conversation.id, limit: '10' },
    ...printed(`messages({ conversation_id: '${conversation.id}', limit: 10 })`),
  },
  getMessage: { path: message, query: { include: 'details' }, ...printed("message($id, { include: 'details' })") },
  getAttachment: {
    path: { ...message, n: '0' },
    download: 'photo.jpg',
    imports: ["import { writeFile } from 'node:fs/promises';"],
    typeScript: "const { content } = await postern.attachments.get($id, 0);\nawait writeFile('photo.jpg', content);",
  },
  uploadAttachment: {
    file: 'photo.jpg',
    imports: ["import { createReadStream } from 'node:fs';"],
    ...printed("attachments.upload({ name: 'photo.jpg', content: createReadStream('photo.jpg') })"),
  },
  listConversations: { query: { include: 'details' }, ...printed("conversations({ include: 'details' })") },
  getConversation: { path: conversation, ...printed('conversation($id)') },
  listConversationAttachments: {
    path: conversation,
    typeScript:
      'for await (const { name, message_id, n } of postern.attachments.inConversation($id)) console.log(name, message_id, n);',
  },
  searchMessages: { query: { q: 'dinner from:me' }, ...printed("search('dinner from:me')") },
  listContacts: { query: { q: 'ana' }, ...printed("contacts({ q: 'ana' })") },
  listPeople: { query: { q: 'ana' }, ...printed("people.list({ q: 'ana' })") },
  listPersonMessages: {
    path: { id: examples.person.id },
    query: { limit: '10' },
    ...printed('people.messages($id, { limit: 10 })'),
  },
  registerWebhook: printed('addWebhook($body)'),
  listWebhooks: printed('webhooks()'),
  deleteWebhook: { path: webhook, ...NO_OUTPUT, typeScript: 'await postern.removeWebhook($id);' },
  getWebhook: { path: webhook, ...printed('webhook($id)') },
  changeWebhook: { path: webhook, ...printed('changeWebhook($id, $body)') },
  listDeliveries: { path: webhook, ...printed('deliveries($id)') },
  testWebhook: { path: webhook, ...printed('testWebhook($id)') },
  resendDelivery: {
    path: { ...webhook, delivery: examples.delivery.id },
    isPlainFetch: true,
    typeScript:
      "const answer = await fetch($url, { method: 'POST', headers: { 'X-API-Key': env.KEY ?? '' } });\n" +
      'console.log(await answer.json());',
  },
  retryWebhook: { path: webhook, ...printed('retryWebhook($id)') },
  replayWebhook: { path: webhook, ...printed('replayWebhook($id, 1200)') },
  listEvents: {
    query: { after: '1204' },
    headers: { Accept: 'application/x-ndjson' },
    isStream: true,
    typeScript: LISTENING.replace('after: 1204', "after: 1204, over: 'http'"),
  },
  getStatus: printed('status()'),
  getOverview: printed('home.overview()'),
  getStatistics: {
    path: { kind: 'events' },
    query: { by: 'hour', last: '24' },
    ...printed("home.statistics('events', { by: 'hour', last: 24 })"),
  },
  getConfig: printed('home.settings()'),
  checkPermissions: printed('checkPermissions()'),
  runDiagnostics: { query: { seconds: '5' }, ...printed('diagnostics({ seconds: 5 })') },
  openWebSocket: { overHttp: 'listEvents', typeScript: LISTENING },
  listKeys: printed('keys.list()'),
  addKey: printed('keys.add($body)'),
  getOwnKey: printed('keys.mine()'),
  getKey: { path: key, ...printed('keys.get($id)') },
  checkKey: { path: key, query: { to: '+15550100' }, ...printed("keys.check($id, '+15550100')") },
  changeKey: { path: key, ...printed('keys.change($id, $body)') },
  rotateKey: { path: key, ...printed('keys.rotate($id)') },
  revokeKey: { path: key, ...printed('keys.revoke($id)') },
  listApprovals: { query: { state: 'held', wait: '50' }, ...printed("approvals.list({ state: 'held', wait: 50 })") },
  getApproval: { path: approval, query: { wait: '50' }, ...printed('approvals.get($id, { wait: 50 })') },
  approveSend: {
    path: approval,
    typeScript:
      "const { shown = '', text } = await postern.approvals.get($id);\n" +
      "if (text === 'On my way') await postern.approvals.approve($id, shown);",
  },
  denySend: { path: approval, ...printed('approvals.deny($id)') },
  withdrawSend: { path: approval, ...NO_OUTPUT, typeScript: 'await postern.approvals.withdraw($id);' },
  getSelfChat: printed('approvals.selfChat()'),
  sendSelfChatCode: printed('approvals.sendSelfChatCode()'),
  proveSelfChat: printed("approvals.proveSelfChat('482913')"),
  listAudit: { query: { after: '11', limit: '100' }, ...printed('keys.audit({ after: 11, limit: 100 })') },
  makeSignInCode: {
    isOverSocket: true,
    python: [
      'import http.client',
      'import json',
      'import os',
      'import socket',
      '',
      'connection = http.client.HTTPConnection("localhost")',
      'connection.sock = socket.socket(socket.AF_UNIX)',
      'connection.sock.connect(os.environ["SOCKET"])',
      'connection.request("POST", "/api/v1/sign-in-codes", headers={"X-API-Key": os.environ["KEY"]})',
      'print(json.load(connection.getresponse()))',
    ].join('\n'),
    ...printed('keys.signInCode()'),
  },
  signIn: {
    headers: { Origin: 'http://127.0.0.1:3001' },
    isPlainFetch: true,
    typeScript: [
      'const answer = await fetch($url, {',
      "  method: 'POST',",
      "  headers: { 'Content-Type': 'application/json', Origin: env.CONSOLE ?? 'http://127.0.0.1:3001' },",
      '  body: JSON.stringify($body),',
      '});',
      'console.log(answer.status);',
    ].join('\n'),
  },
  callMcp: {
    headers: { Accept: 'application/json, text/event-stream' },
    reads: 'text',
    isPlainFetch: true,
    typeScript: [
      'const answer = await fetch($url, {',
      "  method: 'POST',",
      '  headers: {',
      "    'X-API-Key': env.KEY ?? '',",
      "    'Content-Type': 'application/json',",
      "    Accept: 'application/json, text/event-stream',",
      '  },',
      '  body: JSON.stringify($body),',
      '});',
      'console.log(await answer.text());',
    ].join('\n'),
  },
  getMetrics: {
    reads: 'text',
    isPlainFetch: true,
    typeScript:
      "const answer = await fetch($url, { headers: { 'X-API-Key': env.KEY ?? '' } });\n" +
      'console.log(await answer.text());',
  },
} as const satisfies Record<RouteId, CodeCall>;
