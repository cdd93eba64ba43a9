import type { ClientContext } from '../../core/cli/client-context.ts';
import { EXIT } from '../../core/cli/context.ts';
import type { Style } from '../../core/cli/output/style.ts';
import { LABEL_COLUMNS, oneLine, printable, wrapped } from '../../core/cli/output/text.ts';
import { shownSpan } from '../../core/cli/output/time.ts';
import type { Served } from '../../core/cli/service-connection.ts';
import type { Feature, ShownStatus } from '../../core/feature.ts';
import { accountTrouble } from '../../core/model/messages-account.ts';
import { type HubMac, isBehind, type StatusReport, type WebhookSummary } from '../../core/model/status.ts';
import { type Verdict, verdictOf } from '../../core/model/verdict.ts';

/**
 * `postern status`: prints the service's status and, with the owner's key, the lines that features add. Exits with 69
 * while a Mac's service cannot read Messages, or while a hub cannot reach its servers.
 */
export async function status({ json }: { readonly json?: boolean }, service: Served): Promise<number> {
  const { client, features, isLimited } = service;
  const report = await client.status();
  if (json === true) service.answer(report);
  else {
    const ofFeatures = await featureLines(report, features);
    const below = isLimited ? [] : await pagesOf(features, service);
    service.answer(report, ...page(report, ofFeatures, service), ...below);
  }
  return report.backend.connected ? EXIT.ok : EXIT.unavailable;
}

/** Returns what the features say about their members of the status. */
function featureLines(report: StatusReport, features: readonly Feature[]): Promise<readonly ShownStatus[]> {
  const members = report as unknown as Readonly<Record<string, unknown>>;
  const shown = features.flatMap(({ name, shown: load }) => {
    const member = members[name];
    return load === undefined || member === undefined ? [] : [load().then((text) => text(member as never))];
  });
  return Promise.all(shown);
}

/** Returns what the features print below the status. */
async function pagesOf(features: readonly Feature[], service: Served): Promise<readonly string[]> {
  const pages = features.flatMap(({ statusPage: load }) =>
    load === undefined ? [] : [load().then((pageOf) => pageOf(service))],
  );
  return (await Promise.all(pages)).flat();
}

function page(report: StatusReport, ofFeatures: readonly ShownStatus[], service: Served): readonly string[] {
  const { isTerminal, paint, columns, address } = service;
  const { tone, text, next } = verdictOf(report);
  return [
    // Prints the verdict only on a terminal, because scripts expect the first line to begin with `Postern`.
    ...(isTerminal
      ? [paint('bold', paint(TONES[tone], oneLine(text))), ...wrapped(printable(next), columns, 0), '']
      : []),
    ...lines(report, address, ofFeatures).flatMap((line) => shownLine(line, service)),
  ];
}

const TONES: Readonly<Record<Verdict['tone'], Style>> = { good: 'green', warn: 'yellow', bad: 'red' };

/** A label and its text. On a terminal, the text is wrapped. */
interface Line {
  readonly name: string;
  readonly text: string;
  readonly style?: Style | undefined;
}

function shownLine({ name, text, style }: Line, { paint, columns }: ClientContext): readonly string[] {
  const [first = '', ...others] = wrapped(printable(text), columns, LABEL_COLUMNS);
  return [`${paint('bold', name)}${' '.repeat(LABEL_COLUMNS - name.length)}${paint(style, first.trimStart())}`].concat(
    others.map((rest) => paint(style, rest)),
  );
}

function lines(report: StatusReport, address: string, ofFeatures: readonly ShownStatus[]): readonly Line[] {
  const {
    backend,
    newest_row: newestRow,
    newest_event: newest,
    webhooks,
    macs,
    permissions,
    messages_account: account,
  } = report;
  const age = newest.age_s === null ? 'before this start' : `${shownSpan(newest.age_s)} ago`;
  return [
    line('Postern', `${report.version} at ${address}, up ${shownSpan(report.uptime_s)}`),
    line(
      macs === undefined ? 'Messages' : 'Servers',
      `${backend.connected ? 'connected' : 'not connected'}${backend.message ? `: ${backend.message}` : ''}`,
      backend.connected ? 'green' : 'red',
    ),
    ...(macs === undefined
      ? [
          line('Newest row', newestRow === null ? 'unknown' : String(newestRow)),
          line('Last event', newest.row_id === 0 ? 'none yet' : `row ${newest.row_id}, ${age}`),
        ]
      : [line('Last event', age), ...macLines(macs)]),
    line('Webhooks', webhooksText(webhooks)),
    ...webhookLines(report),
    ...(account === undefined
      ? []
      : [
          line(
            'iMessage',
            accountTrouble(account.state) ?? 'signed in',
            account.state === 'imessage' ? undefined : 'red',
          ),
        ]),
    ...ofFeatures.map(({ label, text, tone }) => line(label, text, tone)),
    ...permissions.map(({ name, state, detail }) =>
      line(
        'Permission',
        `${name.replaceAll('_', ' ')}: ${state}${state === 'granted' ? '' : `. ${detail}`}`,
        permissionStyle(state),
      ),
    ),
  ];
}

/** Returns a line for each webhook that has trouble, and for each that has dropped events. */
function webhookLines({ webhooks, warnings = [] }: StatusReport): readonly Line[] {
  const troubled = webhooks.filter(isBehind);
  const dropped = warnings.filter(({ webhook }) => webhook !== undefined);
  return [
    ...troubled.map(({ name, origin, state, last_error: why, consecutive_failures: times }) => {
      const failed = `failed ${times === 1 ? 'once' : `${times} times`}`;
      const what = state === 'held' ? 'keeps retrying a held event' : failed;
      const text = oneLine(`${name ?? origin} ${what}${why === null ? '' : `: ${why}`}`);
      return line('', text, state === 'held' ? 'yellow' : 'red');
    }),
    ...dropped.map(({ title, text }) => line('', oneLine(`${title}. ${text}`), 'red')),
  ];
}

function webhooksText(webhooks: StatusReport['webhooks']): string {
  if (webhooks.length === 0) return 'none';
  const count = (name: WebhookSummary['state']): number => webhooks.filter(({ state }) => state === name).length;
  const others = (['held', 'paused'] as const).filter((state) => count(state) > 0);
  const gone = webhooks.filter(({ paused_by: by }) => by === 'receiver').map(({ id, name }) => name ?? id.slice(0, 8));
  return [
    `${webhooks.length}, ${count('failing')} failing`,
    ...others.map((state) => `${count(state)} ${state}`),
    ...(gone.length === 0 ? [] : [`paused because the receiver answered 410: ${oneLine(gone.join(', '))}`]),
  ].join(', ');
}

function permissionStyle(state: StatusReport['permissions'][number]['state']): Style {
  return state === 'granted' ? 'green' : state === 'denied' ? 'red' : 'yellow';
}

/** Returns one line per Mac of a hub. The line of a Mac with a problem names the problem. */
function macLines(macs: readonly HubMac[]): readonly Line[] {
  if (macs.length === 0) return [line('Macs', 'none yet')];
  return macs.map(({ id, state, machines }, index) => {
    const behind = Math.max(0, ...machines.map((one) => one.behind));
    const problems = machines.flatMap(({ machine, problem }) => (problem === null ? [] : [`${machine}: ${problem}`]));
    const names = machines.map((one) =>
      one.state === 'away' && state !== 'away' ? `${one.machine} away` : one.machine,
    );
    const whole = names.length === 0 ? id : `${id} (${names.join(', ')})`;
    const text = [`${whole}, ${state}`, ...(behind === 0 ? [] : [`${behind} rows behind`]), ...problems].join(', ');
    return line(
      index === 0 ? 'Macs' : '',
      oneLine(text),
      state === 'present' && problems.length === 0 ? undefined : 'red',
    );
  });
}

function line(name: string, text: string, style?: Style): Line {
  return { name, text, style };
}
