// The name of the Mac behind the service that this page shows, and the way back to all of them.

import type { VNode } from 'preact';
import { Icon } from '../parts/parts.tsx';
import { placeName, WAY_BACK } from '../service/place.ts';

/** In the side bar, above its views. */
export const WayBack = (): VNode | null =>
  placeName === undefined ? null : (
    <>
      <a href={WAY_BACK} id="way-back">
        <Icon name="left" />
        <span>All Macs</span>
      </a>
      <p class="here" id="here">
        <Icon name="mac" />
        <b class="cut">{placeName}</b>
      </p>
    </>
  );

/** Stands above the view where there is no side bar. */
export const PlaceBar = (): VNode | null =>
  placeName === undefined ? null : (
    <nav class="place-bar" aria-label="This Mac">
      <a class="btn bare mini" href={WAY_BACK}>
        <Icon name="left" />
        All Macs
      </a>
      <Icon name="mac" />
      <b class="cut">{placeName}</b>
    </nav>
  );
