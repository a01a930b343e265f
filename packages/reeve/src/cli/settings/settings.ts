import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { ConnectionOptions } from 'node:tls'
import { UsageError } from '../errors.ts'
import type { Flags } from '../flags.ts'
import type { CliHost, Environment } from '../host.ts'
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
interface SavedTokens {
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

/** Flag and environment variable of each file. */
const PEM_FILE_SETTINGS = {
  ca: ['ca-cert', 'REEVE_CACERT'],
  cert: ['client-cert', 'REEVE_CLIENT_CERT'],
  key: ['client-key', 'REEVE_CLIENT_KEY'],
} as const

const TRUE_VALUES = ['1', 't', 'true']

/** Reads the TLS options; undefined if none are set, so that the defaults of the runtime apply. */
export async function readTlsOptions(
  flags: Flags,
  { environment, directory }: CliHost,
): Promise<ConnectionOptions | undefined> {
  const options: ConnectionOptions = {}
  for (const name of ['ca', 'cert', 'key'] as const) {
    const [flag, variable] = PEM_FILE_SETTINGS[name]
    const path = flags.string(flag) || environment[variable]
    if (path === undefined || path === '') continue
    const source = flags.string(flag) ? `--${flag}` : variable
    options[name] = await readPem(resolve(directory, path), source)
  }
  if ((options.cert === undefined) !== (options.key === undefined))
    throw new UsageError('A certificate and its key go together: --client-cert and --client-key.')
  const serverName = flags.string('tls-server-name') || environment['REEVE_TLS_SERVER_NAME']
  if (serverName !== undefined && serverName !== '') options.servername = serverName
  const skipVerify = environment['REEVE_SKIP_VERIFY']?.toLowerCase() ?? ''
  if (flags.has('tls-skip-verify') || TRUE_VALUES.includes(skipVerify))
    options.rejectUnauthorized = false
  return Object.keys(options).length === 0 ? undefined : options
}

async function readPem(path: string, from: string): Promise<string> {
  const text = await readFile(path, 'utf8').catch((thrown: NodeJS.ErrnoException) => {
    throw new UsageError(`${path} (from ${from}) cannot be read: ${thrown.code ?? thrown.message}.`)
  })
  if (text.includes('-----BEGIN ')) return text
  throw new UsageError(`${path} (from ${from}) holds nothing in PEM form.`)
}
