import type { Task, WorkloadIdentity } from '@reeve/contract'
import { allOf, each, finding, nest, quote, when, type Finding } from './finding.ts'

const NAME = /^[A-Za-z0-9_-]{1,128}$/
const CHANGE_MODES = ['', 'noop', 'restart', 'signal']

export function checkIdentities(task: Task, path: string): readonly Finding[] {
  const seen = new Set(task.Identity === null ? [] : [task.Identity.Name])
  return allOf(
    task.Identity === null ? [] : checkIdentity(task.Identity, `${path}.Identity`),
    each(task.Identities, `${path}.Identities`, (identity, at) => {
      const again = seen.has(identity.Name)
      seen.add(identity.Name)
      return allOf(
        checkIdentity(identity, at),
        when(
          again &&
            finding(`${at}.Name`, `identity ${quote(identity.Name)} is defined more than once`),
        ),
      )
    }),
  )
}

function checkIdentity(identity: WorkloadIdentity, path: string): readonly Finding[] {
  const { Name: name, ChangeMode: mode, TTL: ttl } = identity
  return nest(
    path,
    `Identity ${quote(name)} is invalid`,
    allOf(
      when(
        !NAME.test(name) &&
          finding(`${path}.Name`, `invalid name ${quote(name)}: it must match ${NAME.source}`),
      ),
      when(
        !CHANGE_MODES.includes(mode) &&
          finding(
            `${path}.ChangeMode`,
            `invalid change_mode: must be one of noop, restart or signal, not ${quote(mode)}`,
          ),
      ),
      when(
        mode === 'signal' &&
          identity.ChangeSignal === '' &&
          finding(
            `${path}.ChangeSignal`,
            'change_signal must be specified when change_mode is signal',
          ),
      ),
      when(ttl < 0 && finding(`${path}.TTL`, 'ttl cannot be negative')),
      when(
        name === 'default' &&
          ttl > 0 &&
          finding(
            `${path}.TTL`,
            'ttl for the default identity cannot be set: it lives as long as its allocation',
          ),
      ),
    ),
  )
}
