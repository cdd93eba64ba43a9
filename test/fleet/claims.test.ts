import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { claimSend, moveClaim } from '../../src/features/fleet/hub/claims.ts';
import type { FleetConnection } from '../../src/features/fleet/protocol/connection.ts';
import { describeWithNats, TestFleet } from '../support/fleet-server.ts';

describeWithNats('the claim of a send', () => {
  let fleet: TestFleet;
  let hub: FleetConnection;
  beforeAll(async () => {
    fleet = await TestFleet.start(['m7']);
    hub = await fleet.hub();
  });
  afterAll(() => fleet.close());

  test('moves to another machine, or away, as long as no other hub has found it', async () => {
    const claim = await claimSend(hub, 'moved', 'one');
    expect(await moveClaim(hub, 'moved', claim, 'two')).toBe(true);
    expect(await claimSend(hub, 'moved', 'three')).toMatchObject({ machine: 'two', isNew: false });
    const given = await claimSend(hub, 'given-back', 'one');
    expect(await moveClaim(hub, 'given-back', given, undefined)).toBe(true);
    expect(await claimSend(hub, 'given-back', 'two')).toMatchObject({ machine: 'two', isNew: true });
  });

  test.each(['two', undefined])('stays where another hub has found it, not moved to %p', async (to) => {
    const key = `found-${to}`;
    const claim = await claimSend(hub, key, 'one');
    expect(await claimSend(hub, key, 'two')).toMatchObject({ machine: 'one', isNew: false });
    expect(await moveClaim(hub, key, claim, to)).toBe(false);
    expect(await claimSend(hub, key, 'two')).toMatchObject({ machine: 'one', isNew: false });
  });
});
