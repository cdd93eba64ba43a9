/** One state of the console, and how to reach it. */
export interface ConsoleState {
  readonly name: string;
  readonly hash: string;
  /** Selector of an element that exists once the view is there. */
  readonly shows: string;
  /** Script that leads from the view to the state. The page is reloaded afterwards. */
  readonly does?: string;
  /** Selector of an element that exists once the script has finished. */
  readonly until?: string;
  /** Answers of the service that are changed on their way to the page, which is reloaded afterwards. */
  readonly answers?: readonly (readonly [glob: string, change: (real: never) => unknown])[];
  /** True if axe takes too long in a wide window (40 s). It then checks only the narrow one. */
  readonly isLong?: true;
}

const click = (selector: string): string => `document.querySelector('${selector}').click()`;
const type = (selector: string, text: string): string => `{
  const field = document.querySelector('${selector}');
  field.value = '${text}';
  field.dispatchEvent(new Event('input', { bubbles: true }));
}`;
const key = (name: string): string => `dispatchEvent(new KeyboardEvent('keydown', { key: '${name}', bubbles: true }))`;
const nothing = (glob: string) => [glob, () => []] as const;
const MANY = 10_000;
const WIZARD = { hash: '#/keys/new', shows: '#key-form-new input' };

/** Submits the form of each step until this one is reached. */
const toStep = (step: number): string => `(async () => {
  ${type('#key-form-new input.input', 'agent')}
  for (let turn = 1; turn < ${step}; turn += 1) {
    // Chooses nobody in a step that asks for people.
    for (const one of document.querySelectorAll('#key-form-new .seg button:last-child')) one.click();
    // The form is valid once the choice is drawn.
    await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
    document.querySelector('#key-form-new').requestSubmit();
    while (document.querySelector('.steps li:nth-child(' + (turn + 1) + ')[aria-current]') === null)
      await new Promise((resolve) => setTimeout(resolve, 20));
  }
})()`;

interface Listed {
  readonly id: string;
}

/** Repeats the listed items until there are many, each with its own id. */
const repeated = <Item>(real: readonly Item[], withId: (item: Item, id: string) => Item): readonly Item[] =>
  Array.from({ length: MANY }, (_, place) => withId(real[place % real.length] as Item, `${place + 1}`));

/** The states that axe checks. `ID` and `KEY` in an address stand for a webhook and a key. */
export const CONSOLE_STATES: readonly ConsoleState[] = [
  { name: 'overview', hash: '#/overview', shows: '#overview .todo' },
  { name: 'messages', hash: '#/messages', shows: '#conversation-list a' },
  { name: 'group', hash: '#/c/any%3B%2B%3Bchat424242', shows: '#message-list .msg' },
  { name: 'person', hash: '#/c/any%3B-%3B%2B15550100', shows: '#message-list .failed' },
  { name: 'every kind of content', hash: '#/c/any%3B-%3B%2B15550101', shows: '#message-list .card2' },
  { name: 'new message', hash: '#/messages?new', shows: '#recipient' },
  { name: 'events', hash: '#/events', shows: '#events .ev[data-key]' },
  { name: 'webhooks', hash: '#/webhooks', shows: '#webhook-list tr' },
  { name: 'a webhook', hash: '#/webhooks/ID', shows: '.stats' },
  { name: 'new webhook', hash: '#/webhooks/new', shows: '#webhook-form' },
  { name: 'approvals', hash: '#/approvals', shows: '#approval-list .ask' },
  { name: 'keys', hash: '#/keys', shows: '#key-list tr' },
  { name: 'a key', hash: '#/keys/KEY', shows: '.can' },
  { name: 'new key', ...WIZARD },
  { name: 'audit', hash: '#/audit', shows: '#audit-list .aud' },
  { name: 'settings', hash: '#/settings', shows: '#s-server' },
  { name: 'new key, people', ...WIZARD, does: toStep(2), until: '.steps li:nth-child(2)[aria-current]' },
  { name: 'new key, limits', ...WIZARD, does: toStep(3), until: '.steps li:nth-child(3)[aria-current]' },
  {
    name: 'search with hits',
    hash: '#/messages',
    shows: '#conversation-list a',
    does: type('#search', 'kettle'),
    until: '#hit-list button',
  },
  {
    name: 'search without a hit',
    hash: '#/messages',
    shows: '#conversation-list a',
    does: type('#search', 'xylophone'),
    until: '#search-state:not(:empty)',
  },
  {
    name: 'search or jump',
    hash: '#/settings',
    shows: '#s-server',
    does: click('#jump'),
    until: 'dialog.palette [role="option"]',
  },
  { name: 'keyboard shortcuts', hash: '#/settings', shows: '#s-server', does: key('?'), until: 'dialog[open] dl' },
  {
    name: 'menu of a webhook',
    hash: '#/webhooks/ID',
    shows: '.stats',
    does: click('.head [aria-haspopup]'),
    until: '[role="menuitem"]:focus',
  },
  {
    name: 'question before a removal',
    hash: '#/webhooks/ID',
    shows: '.stats',
    does: `[...document.querySelectorAll('.head [role="menuitem"]')].at(-1).click()`,
    until: 'dialog[open] .acts',
  },
  {
    name: 'an event as JSON',
    hash: '#/events',
    shows: '#events .ev[data-key]',
    does: click('#events .ev[data-key]'),
    until: '.drawer pre',
  },
  {
    name: 'events paused',
    hash: '#/events',
    shows: '#events .ev[data-key]',
    does: click('#pause'),
    until: '#pause[aria-pressed="true"]',
  },
  {
    name: 'only unread conversations',
    hash: '#/messages',
    shows: '#conversation-list a',
    does: click('#conversations .chip'),
    until: '#conversations .chip[aria-pressed="true"]',
  },
  {
    name: 'nothing set up yet',
    hash: '#/overview',
    shows: '#overview .start, #overview .code',
    answers: [
      [
        '**/api/v1/overview',
        (real: { status: object }) => ({
          ...real,
          status: { ...real.status, webhooks: [], held_sends: 0 },
          keys: [],
          approvals: [],
          events: { today: 0, minutes: [] },
          webhooks: [],
        }),
      ],
    ],
  },
  {
    name: 'no conversations',
    hash: '#/messages',
    shows: '#conversation-none .empty',
    answers: [nothing('**/api/v1/conversations?*')],
  },
  {
    name: 'no messages',
    hash: '#/c/any%3B-%3B%2B15550100',
    shows: '#message-list.bare',
    answers: [nothing('**/api/v1/messages?*')],
  },
  {
    name: 'no webhooks',
    hash: '#/webhooks',
    shows: '#webhooks .empty',
    answers: [nothing('**/api/v1/webhooks?*')],
  },
  {
    name: 'no approvals',
    hash: '#/approvals',
    shows: '#approvals .empty',
    answers: [nothing('**/api/v1/approvals?*')],
  },
  { name: 'no keys', hash: '#/keys', shows: '#key-none', answers: [nothing('**/api/v1/keys')] },
  {
    name: '10,000 conversations',
    hash: '#/messages',
    shows: '#conversation-list a',
    isLong: true,
    answers: [
      [
        '**/api/v1/conversations?*',
        (real: readonly Listed[]) => repeated(real, (item, id) => ({ ...item, id: `any;-;+1555${id}` })),
      ],
    ],
  },
  {
    name: '10,000 events',
    hash: '#/events',
    shows: '#events .ev[data-key]',
    until: '[role="listitem"][aria-setsize="10000"]',
    isLong: true,
    answers: [
      [
        '**/api/v1/events?after=*',
        (real: readonly { readonly data: Listed }[]) =>
          repeated(real, (event, id) => ({ ...event, data: { ...event.data, id } })),
      ],
    ],
  },
  {
    name: '10,000 lines of the audit log',
    hash: '#/audit',
    shows: '#audit-list .aud',
    until: '[role="listitem"][aria-setsize="10000"]',
    isLong: true,
    answers: [
      [
        '**/api/v1/audit?*',
        // A send that was asked for and waits is one line.
        (real: readonly (Listed & { readonly outcome: string })[]) =>
          repeated(
            real.filter(({ outcome }) => outcome !== 'asked'),
            (entry, id) => ({ ...entry, id: Number(id) as never }),
          ),
      ],
    ],
  },
];
