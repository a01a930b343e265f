import { DiscoveryBlock, SecretStoreBlock, TaskSecret, WorkloadIdentity } from '@reeve/contract'
import { fallBack, type Draft } from '../build/draft.ts'
import { bool, duration, free, tableOf, text, textMap, texts } from './table.ts'

export const IDENTITY = tableOf(WorkloadIdentity, {
  attributes: {
    name: text('Name', 'Name of the identity.'),
    aud: texts('Audience', 'Audience of the token.'),
    env: bool('Env', 'Exposes the token as an environment variable.'),
    file: bool('File', 'Writes the token into the secrets directory.'),
    filepath: text('Filepath', 'Path of that file.'),
    change_mode: text('ChangeMode', 'Action when the token is renewed.'),
    change_signal: text('ChangeSignal', 'Signal of a renewal.'),
    ttl: duration('TTL', 'Lifetime of the token.'),
    service_name: text('ServiceName', 'Service that the identity belongs to.'),
  },
})

export const DISCOVERY = tableOf(DiscoveryBlock, {
  attributes: {
    namespace: text('Namespace', 'Namespace in the external catalogue.'),
    cluster: text('Cluster', 'Name of the external catalogue.'),
    partition: text('Partition', 'Partition in the external catalogue.'),
  },
})

export const SECRET_STORE = tableOf(SecretStoreBlock, {
  attributes: {
    policies: texts('Policies', 'Policies of the token.'),
    role: text('Role', 'Role of the token.'),
    namespace: text('Namespace', 'Namespace in the secret store.'),
    cluster: text('Cluster', 'Name of the secret store.'),
    env: bool('Env', 'Exposes the token as an environment variable.'),
    disable_file: bool('DisableFile', 'Keeps the token out of the secrets directory.'),
    change_mode: text('ChangeMode', 'Action when a new token is written.'),
    change_signal: text('ChangeSignal', 'Signal of a new token.'),
    allow_token_expiration: bool('AllowTokenExpiration', 'Does not renew the token.'),
  },
  finish: fillSecretStore,
})

function fillSecretStore(draft: Draft): void {
  fallBack(draft, 'Env', true)
  fallBack(draft, 'DisableFile', false)
  fallBack(draft, 'ChangeMode', 'restart')
}

export const SECRET = tableOf(TaskSecret, {
  label: 'Name',
  attributes: {
    provider: text('Provider', 'Provider of the secret.'),
    path: text('Path', 'Path of the secret.'),
    env: textMap('Env', 'Environment of the provider.'),
  },
  blocks: { config: free('Config') },
})
