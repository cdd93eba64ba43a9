// The frame around the views: navigation, badges, the state of the connection, and the banners.

import { signal } from '@preact/signals';
import { render, type VNode } from 'preact';
import { counted, number } from '../../../core/model/figures.ts';
import { badges, connection, limited } from '../parts/frame.ts';
import { classes, Icon, PageHead } from '../parts/parts.tsx';
import { type Limited, onLimited, onScarcity } from '../service/budget.ts';
import { liveState } from '../service/live.ts';
import { ACCESS, MAIN, type NavigationItem, TABS } from '../service/navigation.ts';
import { placeName } from '../service/place.ts';
import { MODIFIER } from '../service/preferences.ts';
import { currentRoute } from '../service/route.ts';
import { isDemo, isHub, macs, newestStatus } from '../service/service.ts';
import { followDate } from '../service/today.ts';
import { Offer } from './address-key.tsx';
import { element } from './element.ts';
import { PlaceBar, WayBack } from './place-bar.tsx';

const SETTINGS = { view: 'settings', icon: 'gear', text: 'Settings' };
const current = signal('');

/** Marks the navigation links of the view that the address names. */
export function markCurrent(): void {
  current.value = currentRoute().view;
  element('app').dataset.current = current.value;
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
      <span
        class={classes('count', badge !== undefined && view === 'approvals' && 'now')}
        title={badge && badge.count > 0 ? `${badge.count}${badge.isPart ? ' or more' : ''} ${badge.words}` : undefined}
      >
        {badge !== undefined && badge.count > 0 && (
          <>
            {badge.count > 99 ? '99+' : `${badge.count}${badge.isPart ? '+' : ''}`}
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
  if (newestStatus.value === undefined) return null;
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
  newestStatus.value === undefined ? null : (
    <>
      <Link {...SETTINGS} />
      <a href="docs">
        <Icon name="book" />
        API reference
      </a>
    </>
  );

function Tabs(): VNode | null {
  if (newestStatus.value === undefined) return null;
  const isMore = !TABS.includes(current.value);
  return (
    <>
      {links(MAIN.concat(ACCESS).filter(({ view }) => TABS.includes(view)))}
      <Link {...SETTINGS} icon="more" text="More" isCurrent={isMore} />
    </>
  );
}

function ServiceName(): VNode | null {
  if (newestStatus.value === undefined) return null;
  if (placeName !== undefined) return <>{`Behind ${location.host}`}</>;
  const { length } = macs();
  const name = isHub() ? `Hub · ${counted(length, 'Mac')}` : isDemo() ? 'A simulated Mac' : location.host;
  return <>{name}</>;
}

/** A dot and a word. Only a page that listens is live. */
const STATES = {
  unknown: ['', ''],
  open: ['live', 'Live'],
  good: ['good', 'Connected'],
  warning: ['warn', 'Needs attention'],
  bad: ['bad', 'Not connected'],
} as const;

function Pulse(): VNode {
  const { state, text } = connection.value;
  const [dot, word] = STATES[state === 'good' && liveState.value === 'open' ? 'open' : state];
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
      <span id="service-version">{newestStatus.value?.version}</span>
    </>
  );
}

const isScarce = signal(false);

/** Returns the sentence that says why the page waits; `doing` is what it does afterwards. */
export function limitWords({ leftS, perMinute }: Limited, doing: string): string {
  const what =
    perMinute === undefined
      ? 'The request limit for this minute'
      : `The limit of ${number(perMinute)} requests a minute`;
  return `${what} is reached. ${doing} in ${leftS} s.`;
}

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
      <section
        id="limit-note"
        class="banner"
        aria-label="Request limit"
        hidden={!isScarce.value && limited.value === undefined}
      >
        <Icon name="clock" />
        <span class="grow">
          {limited.value === undefined ? (
            'Few requests are left in this minute, so pictures load only when you click them.'
          ) : (
            <span role="timer">{limitWords(limited.value, 'Continuing')}</span>
          )}{' '}
          All clients share the limit: <code>server.rate_limit_per_minute</code> raises it.
        </span>
      </section>
      <Offer />
      <PlaceBar />
    </>
  );
}

/** The title of the view that is still to come. */
export const coming = signal<string | undefined>(undefined);

const Skeleton = (): VNode | null =>
  coming.value === undefined ? null : (
    <div class="page skeleton">
      <PageHead title={coming.value} />
      <span class="unseen" role="status">
        Loading
      </span>
      <div class="block" />
      <div class="block" />
      <div class="block" />
    </div>
  );

/** Draws the frame, which then follows the signals. */
export function startShell(): void {
  followDate();
  onScarcity((isNow) => {
    isScarce.value = isNow;
  });
  onLimited((now) => {
    limited.value = now;
  });
  element('jump-key').textContent = `${MODIFIER}K`;
  render(<Views />, element('views'));
  render(<FootLinks />, element('foot-links'));
  render(<Tabs />, element('tabs'));
  render(<ServiceName />, element('service-name'));
  render(<Pulse />, element('pulse'));
  render(<Banners />, element('banners'));
  render(<Skeleton />, element('skeleton'));
}
