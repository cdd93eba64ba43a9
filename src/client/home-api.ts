import type { Overview, ShownSetting } from '../domain/overview.ts';
import type { StatisticKind, StatisticSeries, StatisticSpan } from '../domain/statistics.ts';
import { queryOf, type Requests } from './request.ts';

/** Reads the owner's home page, the counters and the configuration. */
export class HomeApi {
  readonly #requests: Requests;

  constructor(requests: Requests) {
    this.#requests = requests;
  }

  /** Returns the console's overview. The service begins to count events and sends at the first request. */
  overview(): Promise<Overview> {
    return this.#requests.one('GET', 'overview', 'status');
  }

  /** Returns the counts of each minute, hour or day, oldest first. */
  statistics(
    kind: StatisticKind,
    { by, last }: { readonly by?: StatisticSpan; readonly last?: number } = {},
  ): Promise<StatisticSeries> {
    return this.#requests.one('GET', `stats/${kind}${queryOf({ by, last })}`, 'since');
  }

  /** Returns every setting of config.toml as the service uses it, without secrets. */
  async settings(): Promise<readonly ShownSetting[]> {
    const answer = await this.#requests.one<{ readonly settings: readonly ShownSetting[] }>(
      'GET',
      'config',
      'settings',
    );
    return answer.settings;
  }
}
