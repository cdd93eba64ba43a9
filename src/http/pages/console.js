// The console: one page over the public API, nothing else. Text of messages is only ever set as textContent.

const API = new URL('api/v1/', location.href);
const KEPT_EVENTS = 200;
const HEALTH_EVERY_MS = 15_000;
const RECONNECT_MS = [1000, 2000, 5000, 15_000];

const element = (id) => document.getElementById(id);
const copyOf = (id) => element(id).content.firstElementChild.cloneNode(true);
let key = sessionStorage.getItem('postern-key') ?? '';
let socket;
let isPaused = false;
let attempts = 0;
let lastRowId = 0;
let openId = '';
let objectUrls = [];

class Refusal extends Error {
  constructor(status, problem) {
    super(
      [
        problem.detail,
        ...(problem.errors ?? []).map((mistake) => `${mistake.pointer}: ${mistake.message}`),
        problem.hint,
      ]
        .filter(Boolean)
        .join(' '),
    );
    this.status = status;
  }
}

/** One call of the API; throws a Refusal with the problem's own words. */
async function call(path, { method = 'GET', body } = {}) {
  let response;
  try {
    response = await fetch(new URL(path, API), {
      method,
      headers: { 'X-API-Key': key, ...(body === undefined ? {} : { 'Content-Type': 'application/json' }) },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  } catch {
    throw new Refusal(0, { detail: 'Postern does not answer. Is it running?' });
  }
  if (response.ok) return response.status === 204 ? undefined : response.json();
  const problem = await response.json().catch(() => ({ detail: `Status ${response.status}.` }));
  throw new Refusal(response.status, problem);
}

function say(id, text, isBad = false) {
  const line = element(id);
  line.textContent = text;
  line.dataset.tone = isBad ? 'bad' : 'good';
}

/** The hour alone for what happened today. */
function timeOf(iso) {
  const time = new Date(iso);
  const isToday = time.toDateString() === new Date().toDateString();
  return isToday ? time.toLocaleTimeString() : time.toLocaleString();
}

// ---- the key

element('key-form').addEventListener('submit', (event) => {
  event.preventDefault();
  void enter(element('key').value);
});

element('sign-out').addEventListener('click', () => {
  sessionStorage.removeItem('postern-key');
  location.reload();
});

async function enter(candidate) {
  key = candidate;
  try {
    const status = await call('status');
    const conversations = await call('conversations?limit=50');
    lastRowId = status.newest_event.row_id;
    sessionStorage.setItem('postern-key', key);
    element('key').value = '';
    element('door').hidden = true;
    element('rooms').hidden = false;
    element('sign-out').hidden = false;
    showConversations(conversations);
    connect();
    await showWebhooks();
  } catch (error) {
    say(
      'key-error',
      error.status === 401 ? 'That is not the key: compare it with api_key in config.toml.' : error.message,
      true,
    );
    element('key').focus();
  }
}

// ---- health

async function showHealth() {
  const line = element('health');
  try {
    const { backend } = await call('health');
    line.dataset.state = backend.connected && backend.message === null ? 'good' : 'bad';
    line.textContent = backend.connected
      ? (backend.message ?? 'connected')
      : `not connected: ${backend.message ?? 'no reason given'}`;
  } catch (error) {
    line.dataset.state = 'bad';
    line.textContent = error.message;
  }
}

// ---- conversations and messages

function showConversations(conversations) {
  element('conversation-list').replaceChildren(
    ...conversations.map((conversation) => {
      const item = copyOf('conversation-item');
      const button = item.querySelector('button');
      item.querySelector('strong').textContent =
        conversation.display_name ?? (conversation.participants.join(', ') || conversation.id);
      item.querySelector('span').textContent = conversation.id;
      item.querySelector('time').textContent = timeOf(conversation.last_message_at);
      button.setAttribute('aria-current', String(conversation.id === openId));
      button.addEventListener('click', () => void openConversation(conversation));
      button.dataset.id = conversation.id;
      return item;
    }),
  );
}

async function openConversation(conversation) {
  openId = conversation.id;
  element('thread-title').textContent = conversation.display_name ?? conversation.participants.join(', ');
  element('recipient').value = conversation.id;
  for (const button of document.querySelectorAll('#conversation-list button')) {
    button.setAttribute('aria-current', String(button.dataset.id === openId));
  }
  try {
    const messages = await call(`messages?limit=50&conversation_id=${encodeURIComponent(conversation.id)}`);
    for (const url of objectUrls) URL.revokeObjectURL(url);
    objectUrls = [];
    const list = element('message-list');
    list.replaceChildren(...messages.reverse().map(messageItem));
    list.scrollTop = list.scrollHeight;
  } catch (error) {
    say('send-result', error.message, true);
  }
}

function messageItem(message) {
  const item = copyOf('message-item');
  item.classList.toggle('mine', message.is_from_me);
  item.querySelector('b').textContent = message.is_from_me ? 'me' : message.sender;
  item.querySelector('time').textContent = timeOf(message.timestamp);
  item.querySelector('i').textContent = message.is_from_me ? message.status : '';
  item.querySelector('p').textContent = message.body;
  message.attachments.forEach(
    (path, index) => void showAttachment(item.querySelector('.attachments'), message.id, index, path),
  );
  return item;
}

async function showAttachment(place, id, index, path) {
  const name = path.split('/').at(-1);
  const link = document.createElement('a');
  link.textContent = name;
  link.title = path;
  place.append(link);
  const response = await fetch(new URL(`messages/${encodeURIComponent(id)}/attachments/${index}`, API), {
    headers: { 'X-API-Key': key },
  }).catch(() => undefined);
  if (!response?.ok) {
    link.textContent = `${name} (${response?.status === 404 ? 'not on disk' : 'could not be loaded'})`;
    return;
  }
  const blob = await response.blob();
  const url = URL.createObjectURL(blob);
  objectUrls.push(url);
  link.href = url;
  link.download = name;
  // SVG could carry a script of its own: it is offered, never shown.
  if (!blob.type.startsWith('image/') || blob.type.includes('svg')) return;
  const picture = document.createElement('img');
  picture.alt = name;
  picture.src = url;
  link.replaceChildren(picture);
}

// ---- sending

element('body').addEventListener('keydown', (event) => {
  if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) element('send-form').requestSubmit();
});

element('send-form').addEventListener('submit', async (event) => {
  event.preventDefault();
  const button = event.target.querySelector('button');
  button.disabled = true;
  say('send-result', 'sending …');
  try {
    const message = await call('messages', {
      method: 'POST',
      body: { recipient: element('recipient').value, body: element('body').value },
    });
    element('body').value = '';
    say(
      'send-result',
      message.id === '' ? 'handed to Messages; its row has not appeared yet' : `row ${message.id}, ${message.status}`,
    );
    if (message.conversation_id !== '' && message.conversation_id !== openId) {
      await openConversation(await call(`conversations/${encodeURIComponent(message.conversation_id)}`));
    }
  } catch (error) {
    say('send-result', error.message, true);
  } finally {
    button.disabled = false;
    element('body').focus();
  }
});

// ---- live events

element('pause').addEventListener('click', (event) => {
  isPaused = !isPaused;
  event.target.setAttribute('aria-pressed', String(isPaused));
  event.target.textContent = isPaused ? 'Go on' : 'Pause';
  if (isPaused) socket?.close();
  else connect();
});

element('live-form').addEventListener('change', () => {
  for (const item of element('event-list').children) item.hidden = !wanted(item.dataset.type);
});

const wanted = (type) => element('live-form').querySelector(`input[value="${type}"]`)?.checked ?? true;

function connect() {
  const url = new URL('ws', API);
  url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:';
  url.searchParams.set('api_key', key);
  url.searchParams.set('after', String(lastRowId)); // nothing is missed over a pause or a broken line
  let hasOpened = false;
  socket = new WebSocket(url);
  socket.addEventListener('open', () => {
    attempts = 0;
    hasOpened = true;
    say('live-state', 'listening');
  });
  socket.addEventListener('message', ({ data }) => takeEvent(JSON.parse(data)));
  socket.addEventListener('close', () => {
    if (isPaused) return say('live-state', 'paused');
    const waitMs = RECONNECT_MS[Math.min(attempts, RECONNECT_MS.length - 1)];
    attempts += 1;
    say('live-state', `not listening; trying again in ${waitMs / 1000} s`, true);
    setTimeout(() => void reconnect(hasOpened), waitMs);
  });
}

/** A browser does not say why a handshake failed: the key may have changed, or the database been replaced. */
async function reconnect(hadOpened) {
  if (isPaused) return;
  try {
    const status = hadOpened ? undefined : await call('status');
    if (status !== undefined) lastRowId = Math.min(lastRowId, status.newest_event.row_id);
  } catch (error) {
    if (error.status === 401)
      return say('live-state', 'The key was changed: choose Forget key and enter the new one.', true);
  }
  connect();
}

/** Puts the conversation of a new message first; one that is not in the list yet brings a new list. */
async function noteConversation({ conversation_id: id, timestamp }) {
  const list = element('conversation-list');
  const button = [...list.querySelectorAll('button')].find((each) => each.dataset.id === id);
  if (button === undefined) {
    if (id !== '') showConversations(await call('conversations?limit=50').catch(() => []));
    return;
  }
  button.querySelector('time').textContent = timeOf(timestamp);
  if (list.firstElementChild !== button.parentElement && !list.contains(document.activeElement)) {
    list.prepend(button.parentElement);
  }
}

function takeEvent({ type, data }) {
  lastRowId = Math.max(lastRowId, Number(data.id));
  const item = copyOf('event-item');
  item.dataset.type = type;
  item.hidden = !wanted(type);
  item.querySelector('code').textContent = type;
  item.querySelector('b').textContent = data.is_from_me ? 'me' : data.sender;
  item.querySelector('span').textContent = type.startsWith('message')
    ? data.body
    : `${data.emoji ?? data.reaction_type} on message ${data.message_id || '(gone)'}`;
  item.querySelector('time').textContent = timeOf(data.timestamp);
  const list = element('event-list');
  list.prepend(item);
  while (list.children.length > KEPT_EVENTS) list.lastElementChild.remove();
  if (!type.startsWith('message')) return;
  void noteConversation(data);
  if (data.conversation_id !== openId) return;
  const messages = element('message-list');
  messages.append(messageItem(data));
  messages.scrollTop = messages.scrollHeight;
}

// ---- webhooks

async function showWebhooks() {
  const webhooks = await call('webhooks');
  element('webhook-list').replaceChildren(...webhooks.map(webhookItem));
  if (webhooks.length === 0) say('webhook-result', 'none registered');
}

function webhookItem(webhook) {
  const item = copyOf('webhook-item');
  item.querySelector('b').textContent = webhook.url;
  item.querySelector('.events').textContent = webhook.events.join(', ');
  item
    .querySelector('.buttons')
    .addEventListener('click', (event) => void webhookAction(item, webhook, event.target.dataset.do));
  return item;
}

async function webhookAction(item, { id }, action) {
  const path = `webhooks/${encodeURIComponent(id)}`;
  try {
    if (action === 'test') {
      const result = await call(`${path}/test`, { method: 'POST' });
      say(
        'webhook-result',
        result.delivered
          ? `the receiver answered ${result.status}`
          : `the receiver failed: ${result.error ?? result.status}`,
        !result.delivered,
      );
    } else if (action === 'replay') {
      const after = prompt('Deliver again everything after this row id:', '0');
      if (after === null) return;
      await call(`${path}/replay`, { method: 'POST', body: { after: Number(after) } });
      say('webhook-result', `delivering again everything after row ${after}`);
    } else if (action === 'deliveries') {
      await showDeliveries(item, path);
    }
  } catch (error) {
    say('webhook-result', error.message, true);
  }
}

async function showDeliveries(item, path) {
  const table = item.querySelector('table');
  table.hidden = !table.hidden;
  if (table.hidden) return;
  const [webhook, records] = await Promise.all([call(path), call(`${path}/deliveries`)]);
  item.querySelector('i').textContent = webhook.state;
  table.querySelector('tbody').replaceChildren(
    ...records.map((record) => {
      const row = document.createElement('tr');
      const cells = [
        timeOf(record.at),
        record.event,
        record.row_id,
        record.error ?? record.status ?? record.outcome,
        record.attempts,
        record.duration_ms,
      ];
      row.append(...cells.map((text) => Object.assign(document.createElement('td'), { textContent: String(text) })));
      return row;
    }),
  );
}

// ---- begin

void showHealth();
setInterval(() => void showHealth(), HEALTH_EVERY_MS);
if (key !== '') void enter(key);
