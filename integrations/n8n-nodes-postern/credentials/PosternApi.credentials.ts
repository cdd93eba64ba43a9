import type {
  IAuthenticateGeneric,
  ICredentialTestRequest,
  ICredentialType,
  Icon,
  INodeProperties,
} from 'n8n-workflow';

export class PosternApi implements ICredentialType {
  name = 'posternApi';

  displayName = 'Postern API';

  icon: Icon = { light: 'file:../icons/postern.svg', dark: 'file:../icons/postern.dark.svg' };

  documentationUrl = 'https://github.com/OWNER/postern/tree/main/integrations/n8n-nodes-postern#credentials';

  properties: INodeProperties[] = [
    {
      displayName: 'URL of the Service',
      name: 'url',
      type: 'string',
      required: true,
      default: 'http://127.0.0.1:3001',
      description: 'The address of Postern, without a path',
    },
    {
      displayName: 'API Key',
      name: 'apiKey',
      type: 'string',
      typeOptions: { password: true },
      required: true,
      default: '',
      description: 'A limited key: postern keys add n8n --scope read events send webhooks',
    },
    {
      displayName: 'Webhook Secret',
      name: 'secret',
      type: 'string',
      typeOptions: { password: true },
      default: '',
      description: 'Signs what the trigger receives. Any long random text; without one, signatures are not checked.',
    },
  ];

  authenticate: IAuthenticateGeneric = {
    type: 'generic',
    properties: { headers: { 'X-API-Key': '={{$credentials.apiKey}}' } },
  };

  test: ICredentialTestRequest = {
    request: { baseURL: '={{$credentials.url}}', url: '/api/v1/keys/me' },
  };
}
