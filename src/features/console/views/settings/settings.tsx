// Preferences of this browser, permissions on macOS, and the settings in config.toml.

import { signal } from '@preact/signals';
import type { ComponentChildren, VNode } from 'preact';
import type { SearchReport } from '../../../../client/search-types.ts';
import { number, spanOf } from '../../../../core/model/figures.ts';
import type { ShownSetting } from '../../../../core/model/shown-setting.ts';
import type { StatusReport } from '../../../../core/model/status.ts';
import { Button, CodeLine, Icon, Note, PageHead, Tag } from '../../parts/parts.tsx';
import { viewOf, whileShown } from '../../parts/view.tsx';
import { type Asked, call, statusOf } from '../../service/api.ts';
import { navigationItems, TABS } from '../../service/navigation.ts';
import type { View } from '../../service/route.ts';
import { commandOf, mayOwn, newestStatus } from '../../service/service.ts';
import { BrowserCard } from './browser-card.tsx';
import { PermissionCards } from './permission-cards.tsx';
import { SECTIONS, settingValue } from './setting-names.ts';
import { SettingRow } from './setting-row.tsx';

const EVERY_MS = 30_000;

/** The settings of each section. Key: the section's title. */
type Sections = ReadonlyMap<string, readonly ShownSetting[]>;

interface Read {
  readonly status: StatusReport;
  /** Undefined for a limited key, and if the service has none or refuses the request. */
  readonly config: Sections | undefined;
}

const last = signal<Read | undefined>(undefined);
/** Id of the section that is in view. */
const current = signal('');

async function read(options?: Asked): Promise<void> {
  const status = await call<StatusReport>('status', options);
  newestStatus.value = status;
  const config = mayOwn('getConfig') ? await readConfig(options) : undefined;
  // What could not be read again stays.
  last.value = { status, config: config ?? last.value?.config };
  setTimeout(markSection);
}

async function readConfig(options?: Asked): Promise<Sections | undefined> {
  try {
    const { settings } = await call<{ readonly settings: readonly ShownSetting[] }>('config', options);
    const sections = new Map<string, readonly ShownSetting[]>();
    for (const setting of settings) {
      const title = SECTIONS[setting.key.split('.')[0] ?? ''] ?? 'Server';
      sections.set(title, [...(sections.get(title) ?? []), setting]);
    }
    return sections;
  } catch (error) {
    if (statusOf(error) === undefined) throw error;
    return undefined;
  }
}

/** Marks the link to the section that is in view. */
function markSection(): void {
  const heads = [...document.querySelectorAll('#settings:not([hidden]) .sect')];
  if (heads.length === 0) return;
  const reached = heads.findLast((head) => head.getBoundingClientRect().top < innerHeight / 3) ?? heads[0];
  current.value = reached?.id ?? '';
}

interface Section {
  readonly id: string;
  readonly title: string;
  readonly content: ComponentChildren;
}

function sectionsOf({ status, config }: Read): readonly Section[] {
  const settings = [...(config ?? [])].map(([title, all], index) => ({
    id: title.toLowerCase().replace(' ', '-'),
    title,
    content: (
      <>
        {index === 0 && <HowToChange />}
        <section class="card">
          {all.map((setting) => (
            <ConfigRow key={setting.key} setting={setting} />
          ))}
        </section>
      </>
    ),
  }));
  const permissions = {
    id: 'permissions',
    title: 'Permissions',
    content: <PermissionCards permissions={status.permissions} again={read} />,
  };
  return [
    { id: 'browser', title: 'This browser', content: <BrowserCard /> },
    ...(status.permissions.length > 0 ? [permissions] : []),
    ...settings,
    { id: 'about', title: 'About', content: <AboutCard {...status} /> },
  ];
}

function Settings(): VNode | null {
  if (last.value === undefined) return null;
  const sections = sectionsOf(last.value);
  return (
    <>
      <PageHead title="Settings" />
      <div class="settings">
        <nav aria-label="Sections">
          {sections.map(({ id, title }) => (
            <Button
              key={id}
              kind="bare"
              data-section={id}
              aria-current={current.value === `s-${id}`}
              run={() => document.getElementById(`s-${id}`)?.scrollIntoView({ behavior: 'smooth' })}
            >
              {title}
            </Button>
          ))}
        </nav>
        <div class="stack loose">
          <More />
          {sections.map(({ id, title, content }) => [
            <h2 key={id} class="sect" id={`s-${id}`}>
              {title}
            </h2>,
            content,
          ])}
        </div>
      </div>
    </>
  );
}

/** The views that have no tab on a phone. */
const More = (): VNode => (
  <nav class="card phone-more" aria-label="More">
    {navigationItems()
      .filter(({ view }) => !TABS.includes(view))
      .map(({ view, icon, text }) => (
        <MoreLink key={view} href={`#/${view}`} icon={icon} text={text} />
      ))}
    <MoreLink href="docs" icon="book" text="API reference" />
  </nav>
);

interface MoreLinkProps {
  readonly href: string;
  readonly icon: string;
  readonly text: string;
}

const MoreLink = ({ href, icon, text }: MoreLinkProps): VNode => (
  <a href={href}>
    <Icon name={icon} />
    <span class="grow">{text}</span>
    <Icon name="right" />
  </a>
);

const HowToChange = (): VNode => (
  <>
    <Note>
      <p>
        To change these, edit <code>config.toml</code> and restart Postern. To find the file and check it:
      </p>
    </Note>
    <CodeLine text={`${commandOf('config path')}\n${commandOf('config check')}`} />
  </>
);

function ConfigRow({ setting }: { readonly setting: ShownSetting }): VNode {
  const { key, title, value, default: usual, is_default: isDefault, description } = setting;
  const name = (
    <>
      {title} <code class="small quiet">{key}</code>
    </>
  );
  return (
    <SettingRow name={name} text={description}>
      {!isDefault && <Tag kind="accent">changed</Tag>}
      <span class="mono soft">{settingValue(key, value)}</span>
      {!isDefault && <span class="small quiet usual">{`default ${settingValue(key, usual)}`}</span>}
    </SettingRow>
  );
}

function AboutCard({
  version,
  uptime_s: seconds,
  newest_row: rows,
  capabilities,
  demo,
  ...others
}: StatusReport): VNode {
  const { search } = others as { readonly search?: SearchReport };
  const missing = Object.entries(capabilities ?? {}).filter(([, { available }]) => !available);
  return (
    <section class="card">
      <SettingRow name="Version" text="The version that is running, and for how long.">
        <span class="mono soft" id="version">{`${version}, up ${spanOf(seconds)}`}</span>
      </SettingRow>
      {rows !== null && (
        <SettingRow name="chat.db" text="The newest row.">
          <span class="mono soft">{number(rows)}</span>
        </SettingRow>
      )}
      {search && (
        <SettingRow name="Search" text="The full-text index of all messages.">
          <Tag kind={search.state === 'complete' ? 'good' : 'warn'}>{search.state}</Tag>
          <span class="mono soft">{number(search.indexed_rows)}</span>
        </SettingRow>
      )}
      {missing.length > 0 && (
        <SettingRow name="Not available here" text="What this Mac or its macOS cannot do.">
          <span class="soft">{missing.map(([name]) => name.replaceAll('_', ' ')).join(', ')}</span>
        </SettingRow>
      )}
      <SettingRow name="Guide" text="How everything works, for exactly this version.">
        <a href="guide/">Open the guide</a>
      </SettingRow>
      <SettingRow name="Trouble" text="Says what is wrong and how to fix it.">
        <code>{commandOf('doctor')}</code>
      </SettingRow>
      {!demo && (
        <SettingRow name="This page" text="At this address.">
          <span class="mono soft">{location.host}</span>
        </SettingRow>
      )}
    </section>
  );
}

export function create(): View {
  document.getElementById('main')?.addEventListener('scroll', markSection, { passive: true });
  const view = viewOf('settings', <Settings />, () => read());
  whileShown(view.root, EVERY_MS, () => read({ isByItself: true }));
  return view;
}
