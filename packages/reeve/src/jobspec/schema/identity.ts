import { DiscoveryBlock, SecretStoreBlock, TaskSecret, WorkloadIdentity } from '@reeve/contract'
import { fallBack, type Draft } from '../build/draft.ts'
import { bool, duration, free, tableOf, text, textMap, texts } from './table.ts'

export const IDENTITY = tableOf(WorkloadIdentity, {
  attributes: {
    name: text('Name'),
    aud: texts('Audience'),
    env: bool('Env'),
    file: bool('File'),
    filepath: text('Filepath'),
    change_mode: text('ChangeMode'),
    change_signal: text('ChangeSignal'),
    ttl: duration('TTL'),
    service_name: text('ServiceName'),
  },
})

export const DISCOVERY = tableOf(DiscoveryBlock, {
  attributes: {
    namespace: text('Namespace'),
    cluster: text('Cluster'),
    partition: text('Partition'),
  },
})

export const SECRET_STORE = tableOf(SecretStoreBlock, {
  attributes: {
    policies: texts('Policies'),
    role: text('Role'),
    namespace: text('Namespace'),
    cluster: text('Cluster'),
    env: bool('Env'),
    disable_file: bool('DisableFile'),
    change_mode: text('ChangeMode'),
    change_signal: text('ChangeSignal'),
    allow_token_expiration: bool('AllowTokenExpiration'),
  },
  finish: fillSecretStore,
})

function fillSecretStore(draft: Draft): void {
  fallBack(draft, 'Env', true)
  fallBack(draft, 'DisableFile', false)
  fallBack(draft, 'ChangeMode', 'restart')
  fallBack(draft, 'ChangeSignal', 'SIGHUP')
  fallBack(draft, 'Cluster', 'default')
}

export const SECRET = tableOf(TaskSecret, {
  label: 'Name',
  attributes: { provider: text('Provider'), path: text('Path'), env: textMap('Env') },
  blocks: { config: free('Config') },
})
