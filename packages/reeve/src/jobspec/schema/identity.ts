import { DiscoveryBlock, SecretStoreBlock, TaskSecret, WorkloadIdentity } from '@reeve/contract'
import { setDefault, type RecordBuilder } from '../build/draft.ts'
import { bool, duration, opaque, mapBlock, string, stringMap, stringList } from './table.ts'

export const IDENTITY = mapBlock(WorkloadIdentity, {
  attributes: {
    name: string('Name', 'Name of the identity.'),
    aud: stringList('Audience', 'Audience of the token.'),
    env: bool('Env', 'Exposes the token as an environment variable.'),
    file: bool('File', 'Writes the token into the secrets directory.'),
    filepath: string('Filepath', 'Path of that file.'),
    change_mode: string('ChangeMode', 'Action when the token is renewed.'),
    change_signal: string('ChangeSignal', 'Signal of a renewal.'),
    ttl: duration('TTL', 'Lifetime of the token.'),
    service_name: string('ServiceName', 'Service that the identity belongs to.'),
  },
})

export const DISCOVERY = mapBlock(DiscoveryBlock, {
  attributes: {
    namespace: string('Namespace', 'Namespace in the external catalogue.'),
    cluster: string('Cluster', 'Name of the external catalogue.'),
    partition: string('Partition', 'Partition in the external catalogue.'),
  },
})

export const SECRET_STORE = mapBlock(SecretStoreBlock, {
  attributes: {
    policies: stringList('Policies', 'Policies of the token.'),
    role: string('Role', 'Role of the token.'),
    namespace: string('Namespace', 'Namespace in the secret store.'),
    cluster: string('Cluster', 'Name of the secret store.'),
    env: bool('Env', 'Exposes the token as an environment variable.'),
    disable_file: bool('DisableFile', 'Keeps the token out of the secrets directory.'),
    change_mode: string('ChangeMode', 'Action when a new token is written.'),
    change_signal: string('ChangeSignal', 'Signal of a new token.'),
    allow_token_expiration: bool('AllowTokenExpiration', 'Does not renew the token.'),
  },
  finish: fillSecretStore,
})

function fillSecretStore(draft: RecordBuilder): void {
  setDefault(draft, 'Env', true)
  setDefault(draft, 'DisableFile', false)
  setDefault(draft, 'ChangeMode', 'restart')
}

export const SECRET = mapBlock(TaskSecret, {
  label: 'Name',
  attributes: {
    provider: string('Provider', 'Provider of the secret.'),
    path: string('Path', 'Path of the secret.'),
    env: stringMap('Env', 'Environment of the provider.'),
  },
  blocks: { config: opaque('Config') },
})
