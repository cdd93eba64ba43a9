// The frame around the views: navigation, badges, the state of the connection, and the banners.

import { signal } from '@preact/signals';
import { render, type VNode } from 'preact';
import { badges } from '../parts/frame.ts';
import { classes, Icon } from '../parts/parts.tsx';
import { onScarcity } from '../service/budget.ts';
import { ACCESS, MAIN, type NavigationItem, TABS } from '../service/navigation.ts';
import { placeName } from '../service/place.ts';
import { currentRoute } from '../service/route.ts';
import { isDemo, knownStatus, macs } from '../service/service.ts';
import { counted } from '../service/words.ts';
import { Offer } from './address-key.tsx';
import { PlaceBar, WayBack } from './place-bar.tsx';

const SETTINGS = { view: 'settings', icon: 'gear', text: 'Settings' };
/** Counts the times that somebody has signed in; 0 if nobody has. */
const signIns = signal(0);
const current = signal('');

/** Shows the navigation items that the signed-in key may visit. */
export function showNavigation(): void {
  signIns.value += 1;
}

/** Marks the navigation links of the view that the address names. */
export function markCurrent(): void {
  current.value = currentRoute().view;
}

type Connection = 'unknown' | 'good' | 'warning' | 'bad';

const connection = signal<{ readonly state: Connection; readonly text: string }>({ state: 'unknown', text: '' });

/** Shows the state at the bottom of the sidebar. Unless it is good, also shows `text` in a banner above the view. */
export function showConnection(state: Connection, text: string): void {
  connection.value = { state, text };
}

interface LinkProps extends Omit<NavigationItem, 'isHere'> {
  readonly isCurrent?: boolean;
}

/** The number of approvals has the accent colour, because these items wait for a decision. */
function Link({ view, icon, text, isCurrent = current.value === view }: LinkProps): VNode {
  const badge = badges.value.get(view);
  return (
    <a href={`#/${view}`} data-place={view} aria-current={isCurrent ? 'page' : undefined}>
      <Icon name={icon} />
      <span>{text}</span>
      <span class={classes('count', badge !== undefined && view === 'approvals' && 'now')}>
        {badge !== undefined && badge.count > 0 && (
          <>
            {badge.count > 99 ? '99+' : badge.count}
            <span class="unseen">{` ${badge.words}`}</span>
          </>
        )}
      </span>
    </a>
  );
}

const links = (items: readonly NavigationItem[]): VNode[] =>
  items.filter(({ isHere }) => isHere()).map((item) => <Link key={item.view} {...item} />);

function Views(): VNode | null {
  if (signIns.value === 0) return null;
  const access = links(ACCESS);
  return (
    <>
      <WayBack />
      {links(MAIN)}
      {access.length > 0 && <h2>Access</h2>}
      {access}
    </>
  );
}

const FootLinks = (): VNode | null =>
  signIns.value === 0 ? null : (
    <>
      <Link {...SETTINGS} />
      <a href="docs">
        <Icon name="book" />
        API reference
      </a>
    </>
  );

function Tabs(): VNode | null {
  if (signIns.value === 0) return null;
  const isMore = !TABS.includes(current.value);
  return (
    <>
      {links(MAIN.concat(ACCESS).filter(({ view }) => TABS.includes(view)))}
      <Link {...SETTINGS} icon="more" text="More" isCurrent={isMore} />
    </>
  );
}

function ServiceName(): VNode | null {
  if (signIns.value === 0) return null;
  if (placeName !== undefined) return <>{`Behind ${location.host}`}</>;
  const { length } = macs();
  const name =
    knownStatus().macs !== undefined ? `Hub · ${counted(length, 'Mac')}` : isDemo() ? 'A simulated Mac' : location.host;
  return <>{name}</>;
}

const STATES: Readonly<Record<Connection, readonly [dot: string, word: string]>> = {
  unknown: ['', ''],
  good: ['live', 'Live'],
  warning: ['warn', 'Needs attention'],
  bad: ['bad', 'Not connected'],
};

function Pulse(): VNode {
  const { state, text } = connection.value;
  const [dot, word] = STATES[state];
  return (
    <>
      <p id="health" data-state={state} title={text || undefined}>
        {word !== '' && (
          <>
            <span class={`dot ${dot}`} />
            <span class="grow cut">{word}</span>
          </>
        )}
      </p>
      <span id="service-version">{signIns.value > 0 && knownStatus().version}</span>
    </>
  );
}

const isScarce = signal(false);

function Banners(): VNode {
  const { state, text } = connection.value;
  const isOut = state === 'bad' || state === 'warning';
  return (
    <>
      <p id="outage" class={classes('banner', state === 'bad' && 'bad')} role="status" hidden={!isOut}>
        {isOut && (
          <>
            <Icon name="alert" />
            <span class="grow">{text}</span>
          </>
        )}
      </p>
      <p id="limit-note" class="banner" role="status" hidden={!isScarce.value}>
        Few requests are left in this minute, so pictures load only when you click them. All clients share the limit:{' '}
        <code>server.rate_limit_per_minute</code> raises it.
      </p>
      <Offer />
      <PlaceBar />
    </>
  );
}

/** Returns an element of the page by its id. */
export function element(id: string): HTMLElement {
  const found = document.getElementById(id);
  if (found === null) throw new Error(`There is no #${id}.`);
  return found;
}

/** Draws the frame, which then follows the signals. */
export function startShell(): void {
  onScarcity((isNow) => {
    isScarce.value = isNow;
  });
  render(<Views />, element('views'));
  render(<FootLinks />, element('foot-links'));
  render(<Tabs />, element('tabs'));
  render(<ServiceName />, element('service-name'));
  render(<Pulse />, element('pulse'));
  render(<Banners />, element('banners'));
}
