import type {
  IDataObject,
  IExecuteFunctions,
  IHookFunctions,
  IHttpRequestMethods,
  IHttpRequestOptions,
  JsonObject,
} from 'n8n-workflow';
import { NodeApiError } from 'n8n-workflow';

export interface Ask {
  readonly method: IHttpRequestMethods;
  /** Below `/api/v1`. */
  readonly path: string;
  readonly body?: IDataObject;
  readonly query?: IDataObject;
  readonly headers?: IDataObject;
  readonly itemIndex?: number;
}

/** Asks the service of the credential. Throws its problem, which names every mistake. */
export async function ask<Answer>(from: IExecuteFunctions | IHookFunctions, asked: Ask): Promise<Answer> {
  const { url } = await from.getCredentials<{ url: string }>('posternApi', asked.itemIndex ?? 0);
  const options: IHttpRequestOptions = {
    method: asked.method,
    url: `${url.replace(/\/+$/, '')}/api/v1${asked.path}`,
    json: true,
    ...(asked.body && { body: asked.body }),
    ...(asked.query && { qs: asked.query }),
    ...(asked.headers && { headers: asked.headers }),
  };
  try {
    return (await from.helpers.httpRequestWithAuthentication.call(from, 'posternApi', options)) as Answer;
  } catch (error) {
    throw new NodeApiError(from.getNode(), error as JsonObject, { itemIndex: asked.itemIndex });
  }
}
