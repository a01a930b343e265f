import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { ConnectionOptions } from 'node:tls'
import { UsageError } from '../failure.ts'
import type { Flags } from '../flags.ts'
import type { CliHost } from '../host.ts'

/** The flag, and the variable that says the same. */
const FILES = {
  ca: ['ca-cert', 'REEVE_CACERT'],
  cert: ['client-cert', 'REEVE_CLIENT_CERT'],
  key: ['client-key', 'REEVE_CLIENT_KEY'],
} as const

const TRUE = ['1', 't', 'true']

/**
 * Whom the command line believes and how it proves itself, as connections take it; undefined when
 * nothing was said, so that the platform's own ways do.
 */
export async function tlsSettings(
  flags: Flags,
  { environment, directory }: CliHost,
): Promise<ConnectionOptions | undefined> {
  const options: ConnectionOptions = {}
  for (const name of ['ca', 'cert', 'key'] as const) {
    const [flag, variable] = FILES[name]
    const path = flags.text(flag) || environment[variable]
    if (path === undefined || path === '') continue
    const from = flags.text(flag) ? `--${flag}` : variable
    options[name] = await readPem(resolve(directory, path), from)
  }
  if ((options.cert === undefined) !== (options.key === undefined))
    throw new UsageError('A certificate and its key go together: --client-cert and --client-key.')
  const serverName = flags.text('tls-server-name') || environment['REEVE_TLS_SERVER_NAME']
  if (serverName !== undefined && serverName !== '') options.servername = serverName
  const skips = environment['REEVE_SKIP_VERIFY']?.toLowerCase() ?? ''
  if (flags.has('tls-skip-verify') || TRUE.includes(skips)) options.rejectUnauthorized = false
  return Object.keys(options).length === 0 ? undefined : options
}

async function readPem(path: string, from: string): Promise<string> {
  const text = await readFile(path, 'utf8').catch((thrown: NodeJS.ErrnoException) => {
    throw new UsageError(`${path} (from ${from}) cannot be read: ${thrown.code ?? thrown.message}.`)
  })
  if (text.includes('-----BEGIN ')) return text
  throw new UsageError(`${path} (from ${from}) holds nothing in PEM form.`)
}
