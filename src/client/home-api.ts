import type { ShownSetting } from '../core/model/shown-setting.ts';
import type { Overview, StatisticKind, StatisticSeries, StatisticSpan } from './overview-types.ts';
import { queryOf, type Requests } from './request.ts';

/** Reads the data of the owner's home page, the counts over time, and the settings in use. */
export class HomeApi {
  readonly #requests: Requests;

  constructor(requests: Requests) {
    this.#requests = requests;
  }

  /**
   * Returns the data of the owner's home page. The counts of events and sends start when this method or `statistics`
   * first asks for them.
   */
  overview(): Promise<Overview> {
    return this.#requests.one('GET', 'overview', 'status');
  }

  /** Returns the counts of one kind per minute, hour or day (`by`), oldest first. */
  statistics(
    kind: StatisticKind,
    { by, last }: { readonly by?: StatisticSpan; readonly last?: number } = {},
  ): Promise<StatisticSeries> {
    return this.#requests.one('GET', `stats/${kind}${queryOf({ by, last })}`, 'since');
  }

  /** Returns every setting except secrets, with the value that the service uses. */
  async settings(): Promise<readonly ShownSetting[]> {
    const answer = await this.#requests.one<{ readonly settings: readonly ShownSetting[] }>(
      'GET',
      'config',
      'settings',
    );
    return answer.settings;
  }
}
