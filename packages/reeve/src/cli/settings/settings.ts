import type { Flags } from '../flags.ts'
import type { Environment } from '../host.ts'
import type { SavedLogin } from './login-file.ts'

const DEFAULT_ADDRESS = 'http://127.0.0.1:4646'

/** The source of a region set by the job file. */
export const JOB_FILE_SOURCE = 'the job file'

/** Address, credentials, namespace and region of requests. */
export interface ConnectionSettings {
  readonly address: string
  readonly token: string | undefined
  /** Undefined uses the default of the server. */
  readonly namespace: string | undefined
  readonly region: string | undefined
  /** The source of each setting, for error messages. */
  readonly sources: Readonly<Record<'address' | 'token' | 'region', string>>
}

/** Saved logins and tokens of dev agents. */
export interface SavedTokens {
  readonly login: SavedLogin | undefined
  /** Tokens of dev agents by address. */
  readonly devTokens: Readonly<Record<string, string>>
}

/**
 * Resolves the settings: flags take precedence over the environment, and that over the saved login.
 */
export function connectionSettings(
  flags: Flags,
  environment: Environment,
  saved: SavedTokens,
): ConnectionSettings {
  const address = firstNonEmpty([
    ['--address', flags.string('address')],
    ['REEVE_ADDR', environment['REEVE_ADDR']],
    ['"reeve login"', saved.login?.address],
  ]) ?? { from: 'the default', value: DEFAULT_ADDRESS }
  // A saved token is sent only to the server it was saved for.
  const token = firstNonEmpty([
    ['--token', flags.string('token')],
    ['REEVE_TOKEN', environment['REEVE_TOKEN']],
    ['"reeve login"', saved.login?.tokens[address.value]],
    ['the dev agent of this machine', saved.devTokens[address.value]],
  ])
  const region = firstNonEmpty([
    ['--region', flags.string('region')],
    ['REEVE_REGION', environment['REEVE_REGION']],
  ])
  return {
    address: address.value,
    token: token?.value,
    namespace: nonEmpty(flags.string('namespace')) ?? nonEmpty(environment['REEVE_NAMESPACE']),
    region: region?.value,
    sources: {
      address: address.from,
      token: token?.from ?? 'nowhere',
      region: region?.from ?? 'nowhere',
    },
  }
}

interface ResolvedSetting {
  readonly from: string
  readonly value: string
}

type SettingSource = readonly [from: string, value: string | undefined]

function firstNonEmpty(candidates: readonly SettingSource[]): ResolvedSetting | undefined {
  const found = candidates.map(([from, value]) => ({ from, value: nonEmpty(value) }))
  return found.find((one): one is ResolvedSetting => one.value !== undefined)
}

/** Treats an empty value as unset. */
function nonEmpty(value: string | undefined): string | undefined {
  return value === '' ? undefined : value
}
