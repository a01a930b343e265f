import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { ConnectionOptions } from 'node:tls'
import { UsageError } from '../failure.ts'
import type { Flags } from '../flags.ts'
import type { CliHost } from '../host.ts'

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
